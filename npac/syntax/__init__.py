"""What specs are written in: the syntax tree, and the parsers of the small languages inside its scalars.

Every small language (template tokens, conditions, quantities, image references) is parsed in two
ways that agree: plain string operations take what is well formed, and a Lark grammar from
``grammar/`` takes the rest and says what stopped it.  Parsers give values or problems, never
exceptions.
"""

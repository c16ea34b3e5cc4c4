"""Tests for specs: ``x.test.yaml`` beside ``x.yaml`` says what must run for which decisions."""

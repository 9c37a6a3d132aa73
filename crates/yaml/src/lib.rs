//! Lossless YAML documents: parse, edit, emit.

//! What goes over the wire and comes back.

mod wire;

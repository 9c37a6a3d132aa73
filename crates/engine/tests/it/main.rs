//! The engine over real Git repositories.

mod life;
mod outside;
mod world;

//! The engine over real Git repositories.

mod killed;
mod life;
mod outside;
mod world;

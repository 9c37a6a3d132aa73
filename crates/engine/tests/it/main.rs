//! The engine over real Git repositories.

mod gated;
mod killed;
mod life;
mod outside;
mod rules;
mod turns;
mod world;

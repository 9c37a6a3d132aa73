//! The engine over real Git repositories.

mod gated;
mod killed;
mod life;
mod outbox;
mod outside;
mod races;
mod reported;
mod rules;
mod turns;
mod world;
mod wrapped;

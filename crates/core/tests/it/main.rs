//! Behaviour of the core through its public face: `decide` and `fold`.

mod attention;
mod based;
mod confirmation;
mod delivery;
mod fencing;
mod lifecycle;
mod lives;
mod next_step;
mod policy;
mod properties;
mod put_aside;
mod reach;
mod rules;
mod saving;
mod secrets;
mod terminals;
mod turns;
mod two_speakers;
mod withdrawing;
mod world;

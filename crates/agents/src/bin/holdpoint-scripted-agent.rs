//! The scripted agent as a program of its own, for tests.

fn main() -> std::process::ExitCode {
    holdpoint_agents::scripted::run(std::env::args().skip(1))
}

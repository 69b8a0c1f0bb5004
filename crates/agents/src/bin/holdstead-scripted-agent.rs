//! The scripted agent, and the host it runs under, as a program of its own for tests.

fn main() -> std::process::ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|word| word == "agent-host").is_some() {
        return holdstead_agents::host::run(args);
    }
    holdstead_agents::scripted::run(args)
}

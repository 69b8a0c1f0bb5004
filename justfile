set positional-arguments

target := env("CARGO_TARGET_DIR", "target")
# What the shows run: `just ci-shows` takes `debug`, the build that the tests made.
profile := "release"
proof := target / profile / "holdstead-show"
export HOLDSTEAD_BIN := absolute_path(target / profile / "holdstead")

# Where tests and shows run as root, as they do in CI, so do their agents. The scene of another account sets its own.
export HOLDSTEAD_AGENTS_USER := if `id -u` == "0" { "root" } else { "" }

import 'packages/packages.just'

# List the recipes.
default:
    @just --list --unsorted

# Format the Rust sources.
fmt:
    cargo fmt --all

# Everything the linter objects to is an error.
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Run all tests, with a private PostgreSQL and NATS server; arguments go to nextest.
test *args:
    scripts/nats with scripts/postgres with cargo nextest run "$@"

# Run the gateway.
dev *args:
    cargo run -p holdstead -- serve "$@"

# Watch an agent stop, ask, and go on with your answer.
demo *args: _web-if-node
    cargo run -p holdstead -- demo "$@"

# Build the web UI if it changed; the next `cargo build` embeds it. Without it there is no screen but the terminal.
web: _web-packages
    @cd web && sources=$(find src public index.html package-lock.json *.config.ts -type f -print0 | sort -z | \
        xargs -0 sha256sum | sha256sum) && \
        { [ -e dist/ui/index.html ] && [ "$(cat dist/sources 2>/dev/null)" = "$sources" ] || { npm run build && echo "$sources" > dist/sources; }; }

# People get the real page where it can be built, and are told where it cannot.
_web-if-node:
    @if command -v npm >/dev/null; then just web; else echo "npm not found: Holdstead is built without its web UI, and you answer in the terminal. Install Node 20 for it."; fi

_web-packages:
    @cd web && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund; }

# Check and test the web UI.
web-test: _web-packages
    cd web && npm run check && npm test

# Write the web UI's client and the Python package's types from the OpenAPI document of the debug binary.
api: _web-packages
    cargo build --locked --workspace --all-targets
    export HOLDSTEAD_BIN="$(realpath {{ target }}/debug/holdstead)"; (cd web && npm run api) && \
        cd sdk/python && PYTHONPATH=src python3 -m scripts.types

# Build the docs as a site, into target/docs. Needs mdBook 0.5: `cargo install --locked mdbook`.
docs: _web-packages _shows
    mdbook build --dest-dir {{ absolute_path(target / "docs") }}
    for font in sans-latin-400 sans-latin-600 mono-latin-400; do \
        cp web/node_modules/@fontsource/ibm-plex-${font%%-*}/files/ibm-plex-$font-normal.woff2 {{ target }}/docs/fonts/; done

# Write the table of what rules decide into docs/guides/rules.md.
rules-guide:
    WRITE_RULES_GUIDE=1 cargo nextest run --workspace -E 'test(the_guides_table)'

# Run each fuzz target under libFuzzer so many seconds, and print how often it ran. Needs `cargo install --locked cargo-fuzz`.
fuzz seconds="10":
    scripts/fuzz {{ seconds }}

# Test the Python package, and the TypeScript example, against the debug binary.
sdk-test: _web-packages
    cargo build --locked --workspace --all-targets
    export HOLDSTEAD_BIN="$(realpath {{ target }}/debug/holdstead)"; (cd web && node scripts/example.mjs) && \
        cd sdk/python && PYTHONPATH=src python3 -W error -m unittest discover -s tests -t .

# Install the holdstead binary.
install: _web-if-node
    cargo install --path crates/holdstead --locked

# What CI runs.
ci:
    .ci/run

# What CI leaves out because it takes hours: libFuzzer, every other show, and in full those that CI shortens.
nightly:
    .ci/nightly

# List what Holdstead can prove: claims, benchmarks (which record numbers and fail on ratios within one run only) and fault tests.
show:
    @just --list --unsorted --list-heading '' | grep -E '^ +show-'

# All at once: the shows run the binaries that lie beside them. In `debug` it is what the tests build: tests switch on
# features of what they use, and another selection would build all of that again.
_shows:
    cargo build {{ if profile == "release" { "--release -p holdstead -p holdstead-show -p holdstead-scripted-model" } else { "--workspace --all-targets" } }} --locked

# Answer all kinds of asks over HTTP, kill the gateway with one open, go on after the restart.
show-demo: _shows
    {{ proof }} demo

# Many clients answer one ask at once; exactly one wins.
show-first-answer: _shows
    scripts/postgres with {{ proof }} first-answer

# Every route refuses a missing token, a wrong role, a foreign Host or Origin, a wrong content type.
show-routes: _shows
    {{ proof }} routes

# Benchmark: ask, answer, inbox, replay and search, and the gateway's memory, from 1,000 to so many open asks. Takes minutes.
show-growth largest="100000": _shows
    scripts/postgres with {{ proof }} growth {{ largest }}

# What is found, how soon, and what the index for searches costs an ask is part of it.
alias show-search := show-growth

# Fault test: `kill -9` of the gateway at every step of an ask, 300 times: nothing lost, doubled, invented or run twice.
show-kill *args: _shows
    scripts/postgres with {{ proof }} kill "$@"

# Fault test: store errors under 50 scripted sessions and 10 of the real Claude Code: no answer is stuck or lost, nothing restarted.
show-stalls *args: _shows
    {{ proof }} stalls "$(scripts/agents claude)" "$@"

# Every kind of tampering with the journal is found, on both stores; planted secrets are nowhere.
show-audit: _shows
    scripts/postgres with {{ proof }} audit

# A client that reconnects 1,000 times while 50,000 events flow has seen each exactly once.
show-reconnect: _shows
    {{ proof }} reconnect

# Benchmark: what 10,000 idle streams cost, how fast 1,000 watchers of one session are told, beside a bare loop of writes, and
# what 1,000 clients that never read do to others.
show-fanout: _shows
    {{ proof }} fanout

# Thousands of malformed, oversized, deep and odd inputs over every door, confused and smuggled requests, and four ways to
# starve others: all answered. The other attacks are in the tests of `crates/server`; the browser's are in show-web-login.
show-doors *args: _shows
    {{ proof }} doors "$@"

# Floods of log-ins, made-up tokens and codes, bodies, frames and terminals, and a runner that never answers: the p99 of others stays
# within twice that of a quiet gateway, or 50 ms.
show-starve: _shows
    {{ proof }} starve

# A device is revoked while its stream, socket and long poll are open and while it answers, 200 times: it is out within 1 s.
show-revoke *args: _shows
    {{ proof }} revoke "$@"

# Stops, revoked grants and changed rules against calls that are allowed, on both runners and both stores: no effect on disk afterwards.
show-stop acts="2000": _shows
    scripts/postgres with {{ proof }} stop {{ acts }}

# Tools that put a person in the middle: gate, questionnaire, asking again, answer later.
show-tools:
    scripts/show-tools

# Every command block of the docs and the README runs, each page on a machine of its own; no link is dead; every error code and
# event is in the reference. Needs root and bubblewrap.
show-docs *pages: docs
    HOLDSTEAD_DOCS={{ absolute_path(target / "docs") }} python3 scripts/docs/show.py "$@"

# The command blocks alone, without the built site.
show-docs-commands: _shows
    python3 scripts/docs/show.py

# A new kind of interaction, added to a copy by touching only the files that the guide names.
show-new-kind: _web-packages
    scripts/show-new-kind

# Fault test: 5,000 asks from 100 Python callers that are killed, with a gateway that is killed: each gets its one answer.
show-callers: _shows
    cd sdk/python && PYTHONPATH=src python3 -m shows.callers

# Every shape and bound of MCP's elicitation: taken, checked, shown in a browser; what is not flat is refused.
show-forms: _web-shows
    cd web && node shows/forms.mjs

# The real Claude Code asks in every way; its model is told exactly what was decided.
show-claude-asks: _shows
    {{ proof }} claude-asks "$(scripts/agents claude)"

# tmux types at `run`, `attach`, `inbox --watch` and `stop` with the real Claude Code: nothing is approved by Enter alone, by
# other words, or by pasted text.
show-terminal: _shows
    {{ proof }} terminal "$(scripts/agents claude)"

# Rules with the real Claude Code: what they allow never asks, what they deny never runs, what is saved is what was shown;
# rules over a session's variables, its start and the ends of its turns.
show-rules: _shows
    {{ proof }} rules "$(scripts/agents claude)"

# A hostile repository and the real Claude Code: nothing of it runs unasked; once trusted, what runs is what was approved.
show-closed: _shows
    {{ proof }} closed "$(scripts/agents claude)"

# The real Claude Code with hooks of its user's that allow everything, under load: so many calls that people deny and so many that a rule
# denies; none runs. In a copy that refuses later, some run. Takes minutes; with `show-deny 25 ""` there is no copy.
show-deny denies="200" copy="yes": _shows
    {{ proof }} deny "$(scripts/agents claude)" {{ denies }} {{ if copy == "yes" { '"$(scripts/late-deny ' + profile + ')"' } else { "" } }}

# The real Claude Code in bubblewrap, in Landlock and without: what is approved cannot reach the gateway's own.
show-boxes: _shows
    {{ proof }} boxes "$(scripts/agents claude)"

# Attacks on tokens and keys by agents and other local processes, or those of one topic such as `leftovers`: none succeeds. Each race
# for a file lasts so many seconds.
show-attacks topic="all" seconds="50": _shows
    {{ proof }} attacks "$(scripts/agents claude)" {{ topic }} {{ seconds }}

# Risky lines that a program asks for carry a mark, and harmless ones none.
show-marks: _shows
    {{ proof }} marks

# No generated line is allowed by rules, no other spelling of what a rule denies runs, the shells run nothing else than we
# allowed, and the real programs do nothing else with options that we allow. Needs root, dash and zsh; installs programs into
# target/programs. With seconds it takes about so many, and leaves the real programs out.
show-bypass seconds="": _shows
    {{ if seconds == "" { 'PATH="$(scripts/programs)"' } else { "" } }} {{ proof }} bypass {{ seconds }}

# Every option that the tables of rules know, or those of the named programs: the real program has it, and takes what the tables say,
# in several versions. Needs root; installs programs into target/programs.
show-tables *programs: _shows
    PATH="$(scripts/programs)" HOLDSTEAD_OTHER_PROGRAMS="$(scripts/programs others)" {{ proof }} tables "$@"

# Benchmark: ten days of 2,000 calls, 5 % hostile: asks per 100 with exact grants, with example rules, with what is suggested after an
# hour. The worst day counts.
show-attention: _shows
    {{ proof }} attention

# Benchmark: a decision by 1,000 rules, and the reader of shell lines, the rules and the answers as their input grows.
show-policy-speed: _shows
    {{ proof }} policy-speed

# The reader of shell lines, the rules' parser, the matcher and the answers take any input, in time that grows with it.
show-fuzz seconds="600": _shows
    scripts/fuzz {{ seconds }} shell_lines rule_lines verdicts answers
    {{ proof }} policy-speed

# 50 sessions of the real Claude Code wait without a process; each gets its own answer, also after `kill -9`. Then `memory`, or
# that alone: conversations that were parked and started again in every way have the words of one that never was.
show-claude-park only="": _shows
    {{ proof }} claude-park "$(scripts/agents claude)" {{ if only == "" { '"$(scripts/next-version)"' } else { only } }}

# Fault test: `kill -9` of the gateway, of the real Claude Code, or of both, at every step of an ask.
show-claude-recovery *args: _shows
    {{ proof }} claude-recovery "$(scripts/agents claude)" "$@"

# Fault test: the real Claude Code on a runner: its gateway killed, its network cut for so many seconds, the runner killed: nothing lost.
show-runner seconds="120": _shows
    {{ proof }} runner "$(scripts/agents claude)" {{ seconds }}

# The real Claude Code, Codex and opencode in their own terminals: the terminal first, the card first, both at once so many times, kills in between.
show-connect races="100": _shows
    {{ proof }} connect "$(scripts/agents claude)" "$(scripts/agents codex)" "$(scripts/agents opencode)" {{ races }}

# Benchmark: what a connected program pays for each step, with the gateway there, gone, and silent.
show-hook-cost: _shows
    {{ proof }} hook-cost

# Fault test: three nodes, two machines with agents, and everything that can break breaks for so many seconds: nothing lost,
# doubled or invented. From 120 seconds on, all metrics of the dashboard must move. Needs promtool, which comes with Prometheus.
show-faults seconds="960" *seed: _shows
    scripts/postgres with {{ proof }} faults {{ seconds }} {{ seed }}

# Fault test: three nodes restarted one after the other under load, so many rounds: no answer fails for clients that try again.
show-rolling rounds="5": _shows
    scripts/postgres with {{ proof }} rolling {{ rounds }}

# The same, each node as the next version and back: two versions side by side, of which neither can read what the other folded.
show-upgrade rounds="4": _shows
    scripts/postgres with {{ proof }} upgrade {{ rounds }} "$(scripts/next-version)"

# Fault test: PostgreSQL with a standby: the primary stopped at once, so many times under load, loses nothing; a standby that is behind is refused.
show-failover rounds="20": _shows
    scripts/postgres with {{ proof }} failover {{ rounds }}

# Fault test: backups killed while they are written, one restored elsewhere, on both databases: everything up to it is there, it verifies, and
# what an agent said later is refused and told.
show-restore: _shows
    scripts/postgres with {{ proof }} restore

# One trace for each ask of an agent on a machine of its own, answered on another node, at a collector on loopback.
show-traces: _shows
    scripts/postgres with {{ proof }} traces

# The alerts of docs/watching are well formed, and each fires for what it is for.
alerts:
    promtool check rules docs/watching/alerts.yml
    promtool test rules docs/watching/alerts.test.yml

# Sessions that are erased stay erased, and sessions that age out come back from their files; what a session takes on disk. Then
# 100,000 sessions with parked agents: from start to ready, the gateway's memory, and what a session takes on disk.
show-retention deltas="1000000": _shows
    scripts/postgres with {{ proof }} retention {{ deltas }}

# Tools over MCP: the real Claude Code, hosted, and the real Gemini CLI, not hosted; also across `kill -9`.
show-mcp: _shows
    {{ proof }} mcp "$(scripts/agents claude)" "$(scripts/agents gemini)"

# Benchmark: ask, answer, fetch, by up to 256 callers at once, beside what the databases do by themselves with the same bytes.
show-throughput: _shows
    scripts/postgres with {{ proof }} throughput

# The same on PostgreSQL whose disk takes a millisecond longer for every sync.
show-throughput-on-slow-disk: _shows
    cc -shared -fPIC -O2 -o {{ target }}/slow_fsync.so crates/show/src/benchmarks/throughput/slow_fsync.c
    HOLDSTEAD_POSTGRES_PRELOAD="$(realpath {{ target }}/slow_fsync.so)" scripts/postgres with {{ proof }} throughput-on-slow-disk

# Benchmark: from a person's answer to the agent's input, beside two bare commits of the same bytes. On PostgreSQL also by way of
# another node, and to a screen on a third.
show-answer-latency: _shows
    scripts/nats with scripts/postgres with {{ proof }} answer-latency

# The capacity of one cell and the number of cells for larger deployments, from measured costs; docs/scale.md has the same figures.
show-scale: _shows
    {{ proof }} scale

# What an append, a hint and a read cost a node and a database, and what is stored: what show-scale computes with.
show-costs: _shows
    scripts/postgres with {{ proof }} costs

# The binaries with the web UI in them.
_web-shows: web _shows

# Every state of the three cards in a real browser; two browsers race, and the loser learns it within so many milliseconds; the
# gateway is killed, the network cut.
show-web-cards limit="200": _web-shows
    cd web && node shows/cards.mjs {{ limit }}

# Asks of every origin with hostile names, words, titles, diffs and unknown kinds, on the page and in the terminal: each shows its
# tool and its whole input, and nothing else claims to be them.
show-cards-true asks="200": _web-shows
    cd web && node shows/cards-true.mjs {{ asks }}

# Ten decisions on a desk and on a phone with their strokes counted, and every accident so many times: none of them approves.
show-web-flow tries="20": _web-shows
    cd web && node shows/flow.mjs {{ tries }}

# Logging in with a real browser: links, tabs, sockets, a local network; servers on other ports get nothing that works.
show-web-login: _web-shows
    cd web && node shows/login.mjs

# Attacks on a logged-in browser by programs that take the gateway's port for a while, and by what they leave in it, or those of
# one topic such as `workers`: none succeeds.
show-web-attacks topic="": _web-shows
    cd web && node shows/attacks.mjs {{ topic }}

# Three nodes on one PostgreSQL behind a proxy that takes them in turn: log-ins, passkeys and answers, so many of each: all succeed.
show-web-nodes tries="200": _web-shows
    scripts/postgres with sh -c 'cd web && node shows/nodes.mjs {{ tries }}'

# A phone on a machine of its own (a network namespace) reads the QR code, pairs, answers. Needs root.
show-web-phone: _web-shows
    cd web && node shows/phone.mjs

# A passkey before what is marked: asked, refused, approved; nothing of it is used twice or for something else.
show-web-passkey: _web-shows
    cd web && node shows/passkey.mjs

# Pages around the inbox: a decision found among 100,000, CSV against the journal, erased, snoozed on two devices, palette,
# first run. A passkey that is asked for and refused is in show-web-passkey.
show-web-desk: _web-shows
    cd web && node shows/desk.mjs

# axe-core finds nothing on any screen, light and dark, on a desk and on a phone; or in the named looks, such as `dark-phone`.
show-web-a11y *looks: _web-shows
    cd web && node shows/a11y.mjs "$@"

# HTML, markdown, ANSI, bidi and a megabyte in whatever an agent writes: shown as text, nothing runs.
show-web-spoofing: _web-shows
    cd web && node shows/spoofing.mjs

# Benchmark: size of the first load, journal to pixels with 20 sessions streaming, a session of 50,000 events.
show-web-speed: _web-shows
    cd web && node shows/speed.mjs

# The same cards with the real Claude Code, offline, its model scripted: what a person chose reaches the model.
show-web-claude: _web-shows
    cd web && HOLDSTEAD_CLAUDE="$(../scripts/agents claude)" node shows/claude.mjs

# Photograph every card in every state, into target/gallery.
gallery: _web-packages
    cd web && npm run gallery

# Run the shows that CI runs, which `.ci/shows` lists, on the build of the tests.
ci-shows:
    grep '^show-' .ci/shows | while read -r show; do just profile=debug $show </dev/null || exit 1; done

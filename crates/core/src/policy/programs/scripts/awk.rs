//! awk: programs that choose and print fields. What runs, writes or opens something is not taken.

use super::brackets;

/// Words that run something, open something, or show more than the input.
const REFUSED: [&str; 9] =
    ["system", "getline", "ARGV", "ARGC", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "function"];
/// Functions that may be called.
const FUNCTIONS: [&str; 20] = [
    "length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "tolower", "toupper", "int",
    "sqrt", "log", "exp", "sin", "cos", "atan2", "rand", "srand", "gensub",
];
/// Words after which `/` begins a regular expression, and `(` is no call.
const KEYWORDS: [&str; 16] = [
    "print", "printf", "if", "else", "while", "for", "do", "in", "return", "delete", "next", "exit", "BEGIN",
    "END", "break", "continue",
];

/// What stands before a place: a value, after which `/` divides, or something else, after which it begins a regular
/// expression. Where versions differ it is neither.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Value,
    Operator,
    Unsure,
}

pub(crate) fn is_plain(program: &str) -> bool {
    read(program).is_some()
}

fn read(program: &str) -> Option<()> {
    let mut rest = program;
    let mut before = Before::Operator;
    let (mut braces, mut parens) = (0_i32, 0_i32);
    while let Some(c) = rest.chars().next() {
        let (length, after) = match c {
            ' ' | '\t' => (1, before),
            '\n' | ';' | ',' | '?' | ':' | '~' | '[' | '*' | '%' | '^' | '<' | '=' => (1, Before::Operator),
            '!' => (1, Before::Operator),
            '{' | '}' => {
                braces += if c == '{' { 1 } else { -1 };
                (1, Before::Operator)
            }
            '(' => {
                parens += 1;
                (1, Before::Operator)
            }
            ')' => {
                parens -= 1;
                (1, Before::Unsure)
            }
            ']' => (1, Before::Value),
            '$' => (1, Before::Unsure),
            '+' | '-' if rest[1..].starts_with(c) => (2, Before::Unsure),
            '+' | '-' => (1, Before::Operator),
            '&' if rest.starts_with("&&") => (2, Before::Operator),
            '|' if rest.starts_with("||") => (2, Before::Operator),
            // Alone it would write into a file, except where only values can be compared.
            '>' if rest.starts_with(">=") => (2, Before::Operator),
            '>' if !rest.starts_with(">>") && (parens > 0 || braces == 0) => (1, Before::Operator),
            '"' => (text(rest)?, Before::Value),
            '/' if before == Before::Operator => (regex(rest)?, Before::Value),
            '/' if before == Before::Value => (1, Before::Operator),
            '0'..='9' | '.' => (number(rest), Before::Value),
            'a'..='z' | 'A'..='Z' | '_' => {
                let (length, after) = word(rest)?;
                // The head of `for` takes statements: in it `print` may write into a file, and `>` compares nothing.
                if parens > 0 && matches!(&rest[..length], "print" | "printf") {
                    return None;
                }
                (length, after)
            }
            _ => return None,
        };
        if braces < 0 || parens < 0 {
            return None;
        }
        rest = &rest[length..];
        before = after;
    }
    Some(())
}

fn number(rest: &str) -> usize {
    rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len())
}

fn word(rest: &str) -> Option<(usize, Before)> {
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(length);
    if REFUSED.contains(&name) {
        return None;
    }
    if KEYWORDS.contains(&name) {
        return Some((length, Before::Operator));
    }
    let called = after.trim_start_matches([' ', '\t']).starts_with('(');
    if called && !FUNCTIONS.contains(&name) {
        return None;
    }
    Some((length, Before::Value))
}

/// A string with its quotes.
fn text(rest: &str) -> Option<usize> {
    closed(rest, '"')
}

/// A regular expression with its slashes.
fn regex(rest: &str) -> Option<usize> {
    let length = closed(rest, '/')?;
    brackets::are_plain(&rest[1..length - 1]).then_some(length)
}

fn closed(rest: &str, mark: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return Some(at + mark.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chooses_and_prints() {
        for program in [
            "{print $1}",
            "NR==1",
            "NR>1",
            "$3 > 5 {print $1, $2}",
            "/error|warn/ {print}",
            "BEGIN{FS=\":\"} {print $NF}",
            "{s+=$1} END{print s/NR}",
            "{ if ($2 > 100) print $1 }",
            "!seen[$0]++",
            "{printf \"%s | %d\\n\", $1, $2}",
            "length($0) > 80",
            "{print toupper($1)}",
            "$1 ~ /^a[bc]/ && $2 !~ /x/",
            "{a[$1]++} END {for (k in a) print k, a[k]}",
            "{print $1/1024}",
            "{gsub(/a\\/b/, \"c\"); print}",
            "NR>=10 && NR<=20",
            "",
            "{print ($1 > 2)}",
            "$NF",
            "BEGIN { x = 1 / 2; print x }",
        ] {
            assert!(is_plain(program), "{program}");
        }
    }

    #[test]
    fn what_runs_writes_or_opens() {
        for program in [
            "BEGIN{system(\"rm x\")}",
            "BEGIN { system (\"rm x\") }",
            "{print > \"/tmp/x\"}",
            "{print >> \"x\"}",
            "{print | \"sh\"}",
            "{print |& \"sh\"}",
            "{\"date\" | getline x}",
            "{getline < \"/etc/shadow\"; print}",
            "BEGIN{while ((getline l < \"/etc/shadow\") > 0) print l}",
            "BEGIN{print ENVIRON[\"A\"]}",
            "BEGIN{ARGV[1]=\"/etc/shadow\";ARGC=2}",
            "@include \"x\"",
            "BEGIN{f=\"system\";@f(\"rm x\")}",
            "{printf \"a\" > \"b\"}",
            "{print(1) > \"x\"}",
            "if(x) /\"/; print | \"sh\"; y=\"",
            "{print $1 / \"a\" | \"sh\" / \"b\"}",
            "x++ /\"/ | \"sh\" \"/\"",
            "/[/\"]/ {print | \"sh\"}",
            "BEGIN{print \"a",
            "/a",
            "function f(x){}",
            "}{",
            ")(",
            "{close(\"x\")}",
            "{fflush(\"x\")}",
            "{print > \"x\" ? 1 : 2}",
            "BEGIN { printf(\"x\") > \"y\" }",
            "{print \"a\\\n\"}",
            "BEGIN{for(print \"a\" > \"f\";0;);}",
            "BEGIN{for(;0;printf \"a\" > \"f\");}",
            "{f(1)}",
            "{print; print > $1}",
            "'",
            "{a `b`}",
            "$/\"/ | \"sh\" \"/\"",
            "/[]/\"]/ {print}",
        ] {
            assert!(!is_plain(program), "{program}");
        }
    }
}

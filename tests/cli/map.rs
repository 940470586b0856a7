//! `inorder map`: what filters are given, what is written for what they give, and what is refused.

mod columns;
mod json;
mod options;
mod peers;

use super::testenv::{Ran, TestEnv};

/// Runs `inorder map` with these arguments, as bash reads them, on this input: sequentially, and with other chunks and
/// threads, which must come to the same.
#[track_caller]
fn map(env: &TestEnv, arguments: &str, input: &[u8]) -> Ran {
    env.write("input", input);
    let run = |options: &str| env.run(&format!("inorder map -q {options} {arguments} < input"));
    let ran = run("--sequential");
    for options in ["-j 4 --chunk-size 1", "-j 3 --chunk-size 40", "-j 2"] {
        let other = run(options);
        assert_eq!(
            (other.status, &other.out, &other.err),
            (ran.status, &ran.out, &ran.err),
            "{options}\n{other}\n{ran}"
        );
    }
    ran
}

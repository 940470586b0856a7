//! Who sees the header, and what the command makes of it.

use crate::testenv::TestEnv;

fn with_quoted_lines() -> TestEnv {
    let env = TestEnv::new();
    let mut text = "id,text\n".to_owned();
    for id in 1..=200 {
        text.push_str(&format!(
            "{id},\"line 1 of {id}\nline 2, \"\"quoted\"\"\"\n"
        ));
    }
    env.write("in.csv", text);
    env
}

#[test]
fn keep_in_and_none() {
    let env = TestEnv::new();
    let csv = env.read("data/flights-sample.csv");
    let flights = "data/flights-sample.csv --chunk-size 10k -j 4";
    env.run(&format!("inorder exec {flights} --header keep -- grep -v ,UA, > out && grep -v ,UA, data/flights-sample.csv | cmp - out"))
        .quiet();
    env.run(&format!("inorder exec {flights} --header keep -- cat"))
        .quiet()
        .out(&csv);
    env.run(&format!("inorder exec {flights} --header keep --no-output-header -- cat > out; tail -n +2 data/flights-sample.csv | cmp - out"))
        .quiet();
    env.run(&format!("inorder exec {flights} --header none -- cat > out; tail -n +2 data/flights-sample.csv | cmp - out"))
        .quiet();
    env.run(&format!("inorder exec {flights} --header in -- tail -n +2 > out; tail -n +2 data/flights-sample.csv | cmp - out"))
        .quiet();
    env.run(&format!("inorder exec {flights} --no-output-header -- cat > out; tail -n +2 data/flights-sample.csv | cmp - out"))
        .quiet();
}

#[test]
fn a_command_that_can_do_nothing_with_a_header_is_told_of_the_other_ways() {
    let env = TestEnv::new();
    for (command, why) in [
        ("grep ,UA,", "(grep ,UA,) exited 1"),
        ("true", "printed nothing"),
        ("sh -c 'echo no >&2; exit 3'", "exited 3 and said: no"),
    ] {
        env.old_output();
        let ran = env.run(&format!(
            "inorder exec data/flights-sample.csv -o o/out -- {command}"
        ));
        ran.status(1)
            .err_has(why)
            .err_has("`keep`")
            .err_has("`in`")
            .err_has("`none`");
        env.is_untouched(&ran);
    }
}

#[test]
fn a_result_that_does_not_begin_with_the_header_is_an_error() {
    let env = TestEnv::new();
    for (options, command) in [("", "wc -l"), ("-N 100", "wc -l"), ("-N 100", "sort")] {
        env.run(&format!(
            "inorder exec {options} data/flights-sample.csv -- {command}"
        ))
        .status(1)
        .err_has("not with the header");
    }
    // Nothing at all is a result.
    env.run("inorder exec -N 1 data/flights-sample.csv --shell 'read h; read r && case $r in *,UA,*) exit;; esac; echo $h; echo $r' | grep -c ,UA,")
        .out("0\n");
}

#[test]
fn a_header_is_for_formats_that_have_one() {
    let env = TestEnv::new();
    for line in [
        "exec --header keep --from lines -- cat < /dev/null",
        "exec --header keep --from csv --no-header -- cat < /dev/null",
    ] {
        env.run(&format!("inorder {line}"))
            .status(2)
            .err_has("--header is for CSV");
    }
}

#[test]
fn a_csv_script_gives_what_it_gives_over_the_whole_file() {
    let env = with_quoted_lines();
    if !env.can("python3", "python3 -c 'import csv'") {
        return;
    }
    env.write(
        "add.py",
        "import csv, sys\n\
         rows = csv.reader(sys.stdin)\n\
         out = csv.writer(sys.stdout, lineterminator='\\n')\n\
         out.writerow(next(rows) + ['length'])\n\
         for row in rows:\n    out.writerow(row + [len(row[1])])\n",
    );
    env.run("python3 add.py < in.csv > whole && inorder exec -N 60 -j 3 in.csv -o out -- python3 add.py && cmp whole out")
        .quiet();
    env.run("head -n 1 in.csv > head.csv; inorder exec head.csv -- python3 add.py")
        .quiet()
        .out("id,text,length\n");
}

#[test]
fn miller_gives_what_it_gives_over_the_whole_file() {
    let env = with_quoted_lines();
    if !env.can("mlr", "mlr --version") {
        return;
    }
    // Older ones print no header where there are no rows.
    let alone = env.run("printf 'a,b\\n' | mlr --csv cat");
    let (who, mlr) = if alone.out.is_empty() {
        ("in", "mlr --csv --headerless-csv-output")
    } else {
        ("both", "mlr --csv")
    };
    env.run(&format!("{mlr} put '$n = $id * 2' in.csv > whole && inorder exec --header {who} -N 60 -j 3 in.csv -o out -- {mlr} put '$n = $id * 2' && cmp whole out"))
        .quiet();
}

#[test]
fn several_inputs_share_the_first_ones_header() {
    let env = TestEnv::new();
    env.write("a.csv", "id,name\n1,a\n");
    env.write("b.csv", "\"id\",name\r\n2,b\r\n");
    env.run("inorder exec a.csv b.csv -- cat")
        .quiet()
        .out("id,name\n1,a\n2,b\r\n");
}

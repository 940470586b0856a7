//! `bench`: every way writes the same, and the figures are there.

use crate::testenv::TestEnv;

const QUOTED: &str = "a,b\n1,\"x\ny\"\n\n2,\"say \"\"hi\"\"\"\n3,last\n";

#[test]
fn every_way_is_measured_and_equal() {
    let env = TestEnv::new();
    env.write("in.csv", QUOTED.repeat(3));
    let ran = env.run(
        "inorder bench in.csv --work fib:1..5 -j 1,3 --runs 2 --json --plot plot.svg > report.json",
    );
    ran.status(0).quiet();
    let report = env.json("report.json");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["work"], "fib:1..5");
    let ways = report["ways"].as_array().unwrap();
    let names: Vec<&str> = ways
        .iter()
        .map(|way| way["way"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["plain loop", "--sequential", "-j 1", "-j 3"]);
    for way in ways {
        assert_eq!(way["equal"], true);
        assert_eq!(way["bytes_out"], 3 * QUOTED.len());
        assert_eq!(way["seconds"].as_array().unwrap().len(), 2);
        assert!(way["peak_resident"].as_u64().unwrap() > 1 << 20);
        assert!(way["speed_up"].as_f64().unwrap() > 0.0);
    }
    let plot = String::from_utf8(env.read("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("polyline") && plot.contains("ideal"));
}

#[test]
fn the_table_is_for_people() {
    let env = TestEnv::new();
    env.write("in", "one\n\ntwo\n");
    let ran = env.run("inorder bench in --work none -j 2 --runs 1");
    ran.status(0)
        .quiet()
        .has("--work none on in (9 bytes), ")
        .has("plain loop")
        .has("-j 2");
    assert_eq!(ran.out.matches("equal").count(), 3, "{ran}");
}

#[test]
fn what_can_not_be_measured_is_refused() {
    let env = TestEnv::new();
    env.write("in.csv", QUOTED);
    for args in [
        ".",
        "in.csv --work fail:1%",
        "in.csv --work none -j 0",
        "in.csv --work none --runs 0",
        "in.csv --work none --from lines -d ';'",
        "/dev/null --work none",
        "",
    ] {
        env.run(&format!("inorder bench {args}")).status(2);
    }
    env.run("inorder bench missing --work none")
        .status(1)
        .err_has("missing: cannot be opened");
    env.run("inorder bench in.csv --work none --runs 1 --plot none/x.svg")
        .status(1)
        .err_has("none/x.svg: cannot be written");
}

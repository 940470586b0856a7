//! Files that change while they are processed.

use super::*;

struct Case {
    folder: tempfile::TempDir,
    whole: Vec<u8>,
}

impl Case {
    fn new(len: usize) -> Case {
        let case = Case {
            folder: tempfile::tempdir().unwrap(),
            whole: sample(len),
        };
        fs::write(case.path(), &case.whole).unwrap();
        case
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("input")
    }

    fn file(&self) -> File {
        File::options().write(true).open(self.path()).unwrap()
    }

    fn append(&self, bytes: &[u8]) {
        wait_for_the_clock();
        let mut file = File::options().append(true).open(self.path()).unwrap();
        file.write_all(bytes).unwrap();
    }

    fn watch(&self) -> Watch {
        open_path(&self.path(), &READ).watch().unwrap()
    }

    /// As if the file had been processed to its end.
    fn check(&self, watch: &mut Watch) -> Result<Option<Grown>, InputError> {
        watch.check(&self.whole, self.whole.len() as u64)
    }
}

/// Time stamps have the resolution of the system's tick.
fn wait_for_the_clock() {
    thread::sleep(Duration::from_millis(20));
}

#[test]
fn an_unchanged_file_passes() {
    let case = Case::new(10_000);
    let mut watch = case.watch();
    assert_eq!(case.check(&mut watch).unwrap(), None);
    assert_eq!(case.check(&mut watch).unwrap(), None);
    assert_eq!(watch.check(b"", 0).unwrap(), None);
}

#[test]
fn growth_is_accepted_and_told_once_for_each_length() {
    for len in [1, 4096, 10_000] {
        let case = Case::new(len);
        let mut watch = case.watch();
        for more in 1..4 {
            case.append(b"x");
            let from = len as u64;
            let to = from + more;
            assert_eq!(case.check(&mut watch).unwrap(), Some(Grown { from, to }));
            assert_eq!(case.check(&mut watch).unwrap(), None);
        }
    }
}

#[test]
fn growth_does_not_reach_the_front() {
    for options in [MAPPED, READ] {
        let case = Case::new(10_000);
        let mut input = open_path(&case.path(), &options);
        input.more(100).unwrap();
        case.append(b"more");
        assert_eq!(read_all(&mut input, 3000), case.whole);
    }
}

#[test]
fn growth_with_another_beginning_or_end_is_refused() {
    for at in [0, 9_999] {
        let case = Case::new(10_000);
        let mut watch = case.watch();
        let mut changed = case.whole.clone();
        changed[at] ^= 1;
        changed.push(0);
        wait_for_the_clock();
        fs::write(case.path(), changed).unwrap();
        assert!(matches!(case.check(&mut watch), Err(InputError::Modified)));
    }
}

#[test]
fn a_shorter_file_is_refused_in_numbers() {
    let case = Case::new(10_000);
    let mut watch = case.watch();
    case.file().set_len(5000).unwrap();
    let error = case.check(&mut watch).unwrap_err();
    assert_eq!(error.to_string(), "input shrank from 10000 to 5000 bytes");
}

#[test]
fn a_file_rewritten_in_place_is_refused() {
    let case = Case::new(10_000);
    let mut watch = case.watch();
    wait_for_the_clock();
    fs::write(case.path(), &case.whole).unwrap();
    assert!(matches!(case.check(&mut watch), Err(InputError::Modified)));
}

#[test]
fn a_file_that_grew_may_not_become_shorter() {
    let case = Case::new(10_000);
    let mut watch = case.watch();
    case.append(b"1234");
    assert!(case.check(&mut watch).unwrap().is_some());
    wait_for_the_clock();
    case.file().set_len(10_002).unwrap();
    assert!(matches!(case.check(&mut watch), Err(InputError::Modified)));
}

#[test]
fn a_renamed_or_removed_file_stays_whole() {
    for options in [MAPPED, READ] {
        let case = Case::new(10_000);
        let mut input = open_path(&case.path(), &options);
        let mut watch = input.watch().unwrap();
        fs::rename(case.path(), case.folder.path().join("other")).unwrap();
        fs::write(case.path(), b"new").unwrap();
        fs::remove_file(case.folder.path().join("other")).unwrap();
        assert_eq!(read_all(&mut input, 3000), case.whole);
        assert_eq!(case.check(&mut watch).unwrap(), None);
    }
}

#[test]
fn a_shrunk_file_ends_the_reads() {
    for map in [true, false] {
        let case = Case::new(100_000);
        let options = OpenOptions {
            map,
            window: 8192,
            block: 8192,
            decoder: None,
            encoding: None,
        };
        let mut input = open_path(&case.path(), &options);
        input.more(8192).unwrap();
        input.take(8192);
        case.file().set_len(5000).unwrap();
        let error = input.more(8192).unwrap_err();
        assert_eq!(error.to_string(), "input shrank from 100000 to 5000 bytes");
    }
}

#[test]
fn a_file_that_shrank_to_where_it_is_read_ends_the_reads() {
    let case = Case::new(10_000);
    let options = OpenOptions {
        block: 4000,
        ..READ
    };
    let mut input = open_path(&case.path(), &options);
    input.more(4000).unwrap();
    case.file().set_len(6000).unwrap();
    let result = input.more(8000);
    assert!(matches!(
        result,
        Err(InputError::Shrank {
            from: 10_000,
            to: 6000
        })
    ));
}

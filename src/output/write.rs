//! Vectored writing that does not stop half-way.

use std::io::{self, ErrorKind, IoSlice, Write};

/// Most slices in one call: what Linux and macOS take (`IOV_MAX`).
const GROUP: usize = 1024;

/// Writes all `parts`. Short and interrupted writes are carried on with; `busy` waits when a non-blocking
/// writer takes nothing now.
pub(crate) fn write_all(
    out: &mut impl Write,
    mut parts: &mut [IoSlice<'_>],
    mut busy: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    // An empty slice at the front would make a write of nothing look like a writer that takes nothing.
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        let group = &parts[..parts.len().min(GROUP)];
        match out.write_vectored(group) {
            Ok(0) => return Err(io::Error::new(ErrorKind::WriteZero, "nothing was taken")),
            Ok(taken) if taken > group.iter().map(|part| part.len()).sum() => {
                return Err(io::Error::other(
                    "the writer claims more bytes than it was given",
                ));
            }
            Ok(taken) => IoSlice::advance_slices(&mut parts, taken),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => busy()?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// For writers that cannot be waited for: not being ready is an error.
pub(crate) fn never_busy() -> io::Result<()> {
    Err(ErrorKind::WouldBlock.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes at most `step` bytes a call, from the first slices, and fails each third call.
    struct Slow {
        taken: Vec<u8>,
        step: usize,
        calls: usize,
        most_slices: usize,
    }

    impl Slow {
        fn new(step: usize) -> Slow {
            Slow {
                taken: Vec::new(),
                step,
                calls: 0,
                most_slices: 0,
            }
        }
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
            self.calls += 1;
            self.most_slices = self.most_slices.max(parts.len());
            match self.calls % 6 {
                2 => return Err(ErrorKind::Interrupted.into()),
                5 => return Err(ErrorKind::WouldBlock.into()),
                _ => {}
            }
            let mut left = self.step;
            for part in parts {
                let n = left.min(part.len());
                self.taken.extend_from_slice(&part[..n]);
                left -= n;
            }
            Ok(self.step - left)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn short_interrupted_and_busy_writes_lose_nothing() {
        for step in [1, 2, 3, 7, 100, 10_000] {
            let pieces: Vec<Vec<u8>> = (0..2500u32)
                .map(|n| vec![n as u8; (n % 5) as usize])
                .collect();
            let mut parts: Vec<IoSlice<'_>> =
                pieces.iter().map(|piece| IoSlice::new(piece)).collect();
            let mut slow = Slow::new(step);
            let mut waits = 0;
            write_all(&mut slow, &mut parts, || {
                waits += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(slow.taken, pieces.concat());
            assert!(slow.most_slices <= GROUP);
            assert!(step > 100 || waits > 0);
        }
    }

    #[test]
    fn empty_slices_are_no_error() {
        let mut slow = Slow::new(4);
        let empty = vec![Vec::<u8>::new(); 3000];
        let mut parts: Vec<IoSlice<'_>> = empty.iter().map(|piece| IoSlice::new(piece)).collect();
        write_all(&mut slow, &mut parts, never_busy).unwrap();
        write_all(&mut slow, &mut [], never_busy).unwrap();
        assert_eq!(slow.calls, 0);

        let mut parts: Vec<IoSlice<'_>> = empty.iter().map(|piece| IoSlice::new(piece)).collect();
        parts[1500] = IoSlice::new(b"abc");
        write_all(&mut slow, &mut parts, never_busy).unwrap();
        assert_eq!(slow.taken, b"abc");
    }

    #[test]
    fn a_writer_that_takes_nothing_or_too_much_is_an_error() {
        struct Claims(usize);
        impl Write for Claims {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Ok(self.0)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = write_all(&mut Claims(0), &mut [IoSlice::new(b"ab")], never_busy).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
        write_all(&mut Claims(3), &mut [IoSlice::new(b"ab")], never_busy).unwrap_err();
        let error = write_all(
            &mut Slow {
                calls: 4,
                ..Slow::new(1)
            },
            &mut [IoSlice::new(b"ab")],
            never_busy,
        );
        assert_eq!(error.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

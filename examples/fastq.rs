//! A format of one's own: FASTQ, framed by an iterator of four lines a read, worked on on every core.

use std::error::Error;
use std::io::{self, BufRead, Write};

use inorder::InOrder;

/// One read of a sequencer.
#[derive(Debug, PartialEq)]
struct Read {
    name: String,
    bases: Vec<u8>,
    qualities: Vec<u8>,
}

/// The reads of a FASTQ file.
struct Reads<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> Reads<R> {
    /// The next line without its end; `None` at the end of the input.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.input.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        while line.pop_if(|last| matches!(last, b'\n' | b'\r')).is_some() {}
        Ok(Some(line))
    }

    fn read(&mut self) -> io::Result<Option<Read>> {
        let Some(name) = self.line()? else {
            return Ok(None);
        };
        let first = self.line;
        let [Some(bases), Some(plus), Some(qualities)] = [self.line()?, self.line()?, self.line()?]
        else {
            return Err(broken(first, "it ends too early"));
        };
        if name.first() != Some(&b'@') || plus.first() != Some(&b'+') {
            return Err(broken(first, "it does not begin with @, or has no +"));
        }
        if bases.len() != qualities.len() {
            return Err(broken(first, "as many qualities as bases are wanted"));
        }
        Ok(Some(Read {
            name: String::from_utf8_lossy(&name[1..]).into_owned(),
            bases,
            qualities,
        }))
    }
}

fn broken(line: u64, why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("read at line {line}: {why}"),
    )
}

impl<R: BufRead> Iterator for Reads<R> {
    type Item = io::Result<Read>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Cuts bad bases off the end; `None` if too little is left.
fn trimmed(mut read: Read) -> Option<Read> {
    let good = read
        .qualities
        .iter()
        .rposition(|quality| quality - b'!' >= 20)?
        + 1;
    read.bases.truncate(good);
    read.qualities.truncate(good);
    (good >= 10).then_some(read)
}

/// Writes the trimmed reads in the order of the input. The first error in order ends it.
fn trim(input: impl BufRead + Send + 'static, mut output: impl Write) -> io::Result<()> {
    let reads = Reads { input, line: 0 };
    // Reads differ in length, so the memory is bounded in bytes.
    let weight = |read: &io::Result<Read>| read.as_ref().map_or(0, |read| 2 * read.bases.len());
    let trimmed = reads
        .in_order()
        .weigh(weight)
        .memory(16 << 20)
        .try_map(|read| read.map(trimmed));
    for read in trimmed {
        if let Some(Read {
            name,
            bases,
            qualities,
        }) = read?
        {
            writeln!(output, "@{name}")?;
            output.write_all(&bases)?;
            output.write_all(b"\n+\n")?;
            output.write_all(&qualities)?;
            output.write_all(b"\n")?;
        }
    }
    Ok(())
}

pub fn main() -> Result<(), Box<dyn Error>> {
    let good = "@good\nACGTACGTACGT\n+\nIIIIIIIIII##\n";
    let bad = "@bad\nACGTACGTACGT\n+\n############\n";
    let mut output = Vec::new();
    trim(
        io::Cursor::new([good, bad].concat().repeat(1000)),
        &mut output,
    )?;
    assert_eq!(
        output,
        "@good\nACGTACGTAC\n+\nIIIIIIIIII\n"
            .repeat(1000)
            .into_bytes()
    );

    let cut = format!("{good}{bad}@cut\nACGT\n+\n");
    let error = trim(io::Cursor::new(cut), &mut output).expect_err("the last read is cut");
    println!("{} bytes; and a broken file: {error}", output.len());
    assert_eq!(error.to_string(), "read at line 9: it ends too early");
    Ok(())
}

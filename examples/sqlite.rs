//! SQLite: each worker looks things up over a connection of its own, and the rows are inserted in order by one.

use std::cell::OnceCell;
use std::error::Error;
use std::path::Path;

use inorder::InOrder;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

thread_local! {
    /// A connection cannot be shared, but each worker can have one. It is closed when the run ends, with its thread.
    static LOOKUPS: OnceCell<Connection> = const { OnceCell::new() };
}

/// The name of an airport, if it is known.
fn name_of(database: &Path, code: &str) -> rusqlite::Result<Option<String>> {
    LOOKUPS.with(|lookups| {
        let connection = match lookups.get() {
            Some(connection) => connection,
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
                let connection = Connection::open_with_flags(database, flags)?;
                lookups.get_or_init(|| connection)
            }
        };
        let mut select = connection.prepare_cached("SELECT name FROM airports WHERE code = ?1")?;
        select.query_row([code], |row| row.get(0)).optional()
    })
}

pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let airports = folder.path().join("airports.db");
    Connection::open(&airports)?.execute_batch(
        "CREATE TABLE airports (code TEXT PRIMARY KEY, name TEXT NOT NULL);
         INSERT INTO airports VALUES ('EWR', 'Newark'), ('JFK', 'John F. Kennedy'), ('LGA', 'La Guardia');",
    )?;
    let flights =
        (1..=3000u32).map(|flight| (flight, ["EWR", "LHR", "LGA", "JFK"][flight as usize % 4]));

    let rows = flights
        .in_order()
        .try_map(move |(flight, code)| Ok((flight, name_of(&airports, code)?)));

    // One transaction and one connection that writes; the rows come in order.
    let mut output = Connection::open(folder.path().join("flights.db"))?;
    output.execute_batch("CREATE TABLE flights (flight INTEGER NOT NULL, origin TEXT)")?;
    let transaction = output.transaction()?;
    let mut insert = transaction.prepare("INSERT INTO flights VALUES (?1, ?2)")?;
    for row in rows {
        // An error of a look-up or an insert leaves here; the transaction is rolled back, the workers end.
        let (flight, origin): (u32, Option<String>) =
            row.map_err(|error: rusqlite::Error| error)?;
        insert.execute((flight, origin))?;
    }
    drop(insert);
    transaction.commit()?;

    let mut select = output.prepare("SELECT flight, origin FROM flights ORDER BY rowid")?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(u32, Option<String>)> = rows.collect::<Result<_, _>>()?;
    println!("{} rows, the last {:?}", rows.len(), rows.last());
    assert!(rows.iter().map(|row| row.0).eq(1..=3000));
    assert_eq!(rows[0].1, None);
    assert_eq!(rows[1].1.as_deref(), Some("La Guardia"));
    Ok(())
}

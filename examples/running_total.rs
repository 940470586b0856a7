//! A running total: the payments are read and checked on every core, the balance is kept in order on this thread.

use inorder::InOrder;

/// A payment: its day, and an amount in cents.
#[derive(Debug, PartialEq)]
struct Payment {
    day: u32,
    cents: i64,
}

/// Stands for work that is worth a core: parsing, and whatever makes sure that the payment is right.
fn read(line: &str) -> Result<Payment, String> {
    let wrong = || format!("{line:?} is no payment");
    let (day, amount) = line.split_once(';').ok_or_else(wrong)?;
    let (whole, cents) = amount.split_once('.').ok_or_else(wrong)?;
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    let whole: i64 = whole.parse().map_err(|_| wrong())?;
    let cents: i64 = cents.parse().map_err(|_| wrong())?;
    Ok(Payment {
        day: day.parse().map_err(|_| wrong())?,
        cents: 100 * whole + sign * cents,
    })
}

pub fn main() {
    let lines = (1..=100_000).map(|day| format!("{day};{}.50", day % 21 - 9));

    // The first line that is wrong would end this, with everything before it counted.
    let payments = lines.in_order().try_map(|line| read(&line));

    let (mut balance, mut lowest) = (0, (0, 0));
    for payment in payments {
        let payment = payment.expect("every line is a payment");
        balance += payment.cents;
        lowest = lowest.min((balance, payment.day));
    }
    println!("balance {balance}, lowest {} on day {}", lowest.0, lowest.1);

    assert_eq!(
        read("7;-3.50"),
        Ok(Payment {
            day: 7,
            cents: -350
        })
    );
    let sequential = (1..=100_000i64).map(|day| {
        let whole = day % 21 - 9;
        100 * whole + if whole < 0 { -50 } else { 50 }
    });
    assert_eq!(balance, sequential.sum::<i64>());
}

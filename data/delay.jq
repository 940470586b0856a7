# Minutes of delay of the flights to $to; without a number (NA) the record fails.
select(.dest == $to)
| .dep_delay
| tonumber

// Sends the load of the gateway's benchmarks; see ../README.md.
module latchkey.local/bench/load

go 1.26.0

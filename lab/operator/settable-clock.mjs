// Loaded into a process before its program: SIGUSR2 sets its wall clock an hour ahead, and nothing else.
const now = Date.now;
let aheadMs = 0;
Date.now = () => now() + aheadMs;
process.on('SIGUSR2', () => {
  aheadMs += 3_600_000;
});

// This file is loaded into a measured program. It reports the cost of the process when that ends.
process.on("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const cost = {
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
    wallMs: performance.now(),
    peakMiB: maxRSS / 1024,
  };
  require("node:fs").writeSync(3, JSON.stringify(cost));
});

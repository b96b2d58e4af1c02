/** How a test sees what a process of the product really holds: it collects all garbage on SIGUSR2. */

/**
 * For --require. A flag that is set earlier would make Node reject the code cache of the executable. Collects a second
 * time in a later turn: what the first one finalized is garbage then.
 */
export const collectorText = `process.on("SIGUSR2", () => {
  require("node:v8").setFlagsFromString("--expose-gc");
  const collect = require("node:vm").runInNewContext("gc");
  collect();
  setImmediate(collect);
});
`;

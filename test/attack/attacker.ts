/** The process that attacks: `attacker.ts NAME PORT FACTOR SECONDS`. Ends by itself; prints its tally as JSON. */
import { attacks } from "./attacks.ts";
import { Strangers } from "./strangers.ts";

const [name, port, factor, seconds] = process.argv.slice(2);
const attack = attacks.find((one) => one.name === name);
if (attack === undefined) throw new Error(`no attack has the name ${name}`);
const strangers = new Strangers(Number(port), Number(seconds));
await attack.run(strangers, Number(factor));
process.stdout.write(`${JSON.stringify(strangers.tally)}\n`, () => process.exit(0));

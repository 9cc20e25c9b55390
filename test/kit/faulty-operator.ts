// The operator as its own entry point runs it, with faults in between: node test/kit/faulty-operator.ts FLAGS, and Faults as
// JSON in the environment.

import { FAULTS, type Faults, faultyWires } from "#kit/operator-faults.ts";
import { readFlags } from "../../src/bin/flags.ts";
import { runOperator } from "../../src/bin/run.ts";

const faults = JSON.parse(process.env[FAULTS] ?? "") as Faults;
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.exitCode = await runOperator(readFlags(process.argv.slice(2), process.env), stop.signal, faultyWires(faults));
process.exit();

// The operator as its own entry point runs it, with faults. Usage: node test/kit/sweeps/faulty-operator.ts FLAGS, and
// Faults as JSON in the environment.

import { readFlags } from "../../../src/bin/flags.ts";
import { runOperator } from "../../../src/bin/run.ts";
import { FAULTS, type Faults, faultyWires } from "./operator-faults.ts";

const faults = JSON.parse(process.env[FAULTS] ?? "") as Faults;
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const flags = readFlags(process.argv.slice(2), process.env);
// Each test's operator manages the clusters of one namespace, so that operators can run in parallel. Webhooks and their
// certificate belong to the deployed operator, which the API server calls.
const alone = {
  ...flags,
  clusterLeaseNamespace: flags.operatorNamespace,
  webhookNamespace: readFlags([], {}).operatorNamespace,
  ...(faults.rereadWithinMs === undefined ? {} : { rereadWithinMs: faults.rereadWithinMs }),
};
process.exitCode = await runOperator(alone, stop.signal, faultyWires(faults));
process.exit();

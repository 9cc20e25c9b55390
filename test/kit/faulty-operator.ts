// The operator as its own entry point runs it, with faults in between: node test/kit/faulty-operator.ts FLAGS, and Faults as
// JSON in the environment.

import { FAULTS, type Faults, faultyWires } from "#kit/operator-faults.ts";
import { readFlags } from "../../src/bin/flags.ts";
import { runOperator } from "../../src/bin/run.ts";

const faults = JSON.parse(process.env[FAULTS] ?? "") as Faults;
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const flags = readFlags(process.argv.slice(2), process.env);
// Each test looks after the clusters of one namespace: operators of different namespaces are to act side by side. The webhooks are the
// deployed operator's, with its certificate: the API server asks nobody else.
const alone = {
  ...flags,
  clusterLeaseNamespace: flags.namespace,
  webhookNamespace: readFlags([], {}).namespace,
  ...(faults.rereadWithinMs === undefined ? {} : { rereadWithinMs: faults.rereadWithinMs }),
};
process.exitCode = await runOperator(alone, stop.signal, faultyWires(faults));
process.exit();

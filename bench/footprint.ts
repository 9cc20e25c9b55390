// Memory and CPU of the operator at rest, and the time from its start to its first pass.

import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { benchClient, createNamespace, etcdCluster, OPTIONS, readyCluster, removeNamespace } from "./kube.ts";
import { allOperators, restartOperator, usage } from "./operator-process.ts";

/**
 * Clusters of one member, so that all of them fit on the machine. The operator does the same for each as for larger
 * ones.
 */
const CLUSTERS = 20;
const DEFAULT_STARTS = 5;
/** Pause after the last cluster is Ready, so that all work of its creation has ended, in milliseconds. */
const SETTLE_MS = 40_000;
const LOOK_MS = 60_000;

const starts = benchOptions().rounds ?? DEFAULT_STARTS;
const kube = await benchClient();
const namespaces = Array.from({ length: CLUSTERS }, (_, index) => `bench-footprint-${index}`);
const [first = "", ...others] = namespaces;

await create(first);
await restartOperator(kube); // so that memory from earlier work does not count
await sleep(SETTLE_MS);
const one = await usage(kube, LOOK_MS);
say(`1 cluster: ${JSON.stringify(one)}`);
for (const namespace of others) await create(namespace);
await sleep(SETTLE_MS);
const twenty = await usage(kube, LOOK_MS);
say(`${CLUSTERS} clusters: ${JSON.stringify(twenty)}`);
const firstPasses: number[] = [];
for (let start = 0; start < starts; start++) {
  firstPasses.push(await restartOperator(kube));
  say(`First pass ${firstPasses.at(-1)?.toFixed(2)} s after the start`);
}
print({
  bench: "footprint",
  rssMb1: one.rssMb,
  [`rssMb${CLUSTERS}`]: twenty.rssMb,
  [`cpuMillicores${CLUSTERS}`]: twenty.cpuMillicores,
  firstPassSeconds: rounded(median(firstPasses)),
  [`anonymousMb${CLUSTERS}`]: twenty.anonymousMb,
  [`peakMb${CLUSTERS}`]: twenty.peakMb,
});
await allOperators(kube);
await Promise.all(namespaces.map((namespace) => removeNamespace(kube, namespace)));
await kube.close();

async function create(namespace: string): Promise<void> {
  await createNamespace(kube, namespace);
  await kube.create(ETCD_CLUSTERS, etcdCluster(namespace, "db", 1), OPTIONS);
  await readyCluster(kube, { namespace, name: "db" });
}

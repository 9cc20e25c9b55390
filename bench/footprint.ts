// Memory and CPU of the operator at rest, and how soon it works after its start.

import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { benchClient, createNamespace, etcdCluster, OPTIONS, readyCluster, removeNamespace } from "./kube.ts";
import { allOperators, restartOperator, usage } from "./operator-process.ts";

/** Clusters of one member: the operator holds and asks the same of each, and the machine has to hold them all. */
const CLUSTERS = 20;
const DEFAULT_STARTS = 5;
/** After the last cluster is ready, until nothing of its creation is going on. */
const SETTLE_MS = 40_000;
const LOOK_MS = 60_000;

const starts = benchOptions().rounds ?? DEFAULT_STARTS;
const kube = await benchClient();
const namespaces = Array.from({ length: CLUSTERS }, (_, index) => `bench-footprint-${index}`);
const [first = "", ...others] = namespaces;

await create(first);
await restartOperator(kube); // what it did before must not count
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
  say(`first pass ${firstPasses.at(-1)?.toFixed(2)} s after the start`);
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

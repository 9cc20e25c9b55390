// API requests by the operator: for each created cluster, and per hour at rest. The API server's audit log counts them.

import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { type AuditedRequest, AuditLog, countBy, isLease, isRead } from "#kit/e2e/audit-log.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { benchClient, createNamespace, etcdCluster, OPTIONS, readyCluster, removeNamespace } from "./kube.ts";

/** Clusters of three members, for which the requests of the creation are counted. */
const COUNTED = 5;
/** Clusters at rest. Those beyond the counted ones have one member, to fit on a small machine. */
const RESTING = 10;
/** Pause after the creation, in milliseconds: the operator writes counts of repeated events 30 s after the first. */
const AFTERMATH_MS = 40_000;
const REST_MS = 180_000;

const { auditLog } = benchOptions();
const kube = await benchClient();
const namespaces = Array.from({ length: RESTING }, (_, index) => `bench-requests-${index}`);
const creation = new AuditLog(auditLog);
for (const [index, namespace] of namespaces.entries()) {
  const members = index < COUNTED ? 3 : 1;
  await createNamespace(kube, namespace);
  await kube.create(ETCD_CLUSTERS, etcdCluster(namespace, "db", members), OPTIONS);
  await readyCluster(kube, { namespace, name: "db" });
  say(`cluster ${index + 1} of ${RESTING} is Ready, with ${members} members`);
}
await sleep(AFTERMATH_MS);
const counted = new Set(namespaces.slice(0, COUNTED));
const created = (await creation.requests()).filter(({ namespace }) => counted.has(namespace));
const perCluster = [...Map.groupBy(created, ({ namespace }) => namespace).values()].map(({ length }) => length);
say(`requests per cluster: ${perCluster.join(", ")}`);

const rest = new AuditLog(auditLog);
const startMs = performance.now();
await sleep(REST_MS);
const rested = await rest.requests();
const perHour = (requests: readonly AuditedRequest[]) =>
  Math.round((requests.length * 3_600_000) / (performance.now() - startMs));
const writes = rested.filter((request) => !isRead(request) && !isLease(request));
for (const { verb, resource, namespace, name } of writes) say(`at rest: ${verb} ${resource} ${namespace}/${name}`);
print({
  bench: "requests",
  perCluster: rounded(median(perCluster), 1),
  byVerb: countBy(created, ({ verb }) => verb, COUNTED),
  byResource: countBy(created, ({ verb, resource }) => `${verb} ${resource}`, COUNTED),
  refused: created.filter(({ code }) => code >= 400).length,
  writesAtRestPerHour: perHour(writes),
  readsAtRestPerHour: perHour(rested.filter((request) => isRead(request) && !isLease(request))),
  leaseWritesPerHour: perHour(rested.filter((request) => !isRead(request) && isLease(request))),
});
await Promise.all(namespaces.map((namespace) => removeNamespace(kube, namespace)));
await kube.close();

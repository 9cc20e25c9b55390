import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { print, say } from "../figure.ts";
import { until } from "../until.ts";
import { asksWebhooks, startControlPlane } from "./control-plane.ts";
import { Fleet } from "./fleet.ts";
import { OperatorProcess } from "./operator.ts";
import { Operators } from "./operators.ts";
import { fleetOptions } from "./options.ts";

// The fleet bench itself, inside its own namespaces. When this process ends, all others in them end, too.

/** Limit after which a bench that hangs is ended, in milliseconds: a fixed part, and a part for each cluster. */
const HANGS_MS = 60 * 60_000;
const HANGS_EACH_MS = 1_500;
/** Time from when each operator leads until its caches have synced, in milliseconds. */
const START_MS = 5_000;

const options = fleetOptions();
const { clusters: count, members, atOnce, silent, tls, shards, isBrief, nodeFlags, profiles } = options;
const namespaces = Array.from({ length: options.namespaces }, (_, n) => (n === 0 ? "fleet" : `fleet-${n}`));
const withinMs = HANGS_MS + count * HANGS_EACH_MS;
setTimeout(() => {
  console.error(`The bench did not end within ${withinMs / 60_000} minutes.`);
  process.exit(1);
}, withinMs).unref();

const root = process.cwd();
const folder = tmpdir();
if (profiles !== undefined) mkdirSync(profiles, { recursive: true });
const program = await OperatorProcess.build(root);
const plane = await startControlPlane(folder, namespaces, count);
say("an API server and a controller manager are up");
const kubeconfig = plane.server.kubeconfigFor("operator");
const operator = (number: number): OperatorProcess =>
  new OperatorProcess({ program, folder, kubeconfig, nodeFlags, profiles, number, shards });
const fleet = await Fleet.start(
  plane,
  { namespaces, members, tls },
  () => new Operators(Array.from({ length: shards }, (_, number) => operator(number))),
);
try {
  await measure();
} catch (thrown) {
  console.error(`Last lines of the operators' logs:\n${fleet.operators.log()}`);
  throw thrown;
} finally {
  if (fleet.faults.length > 0) console.error(`Faults of the bench: ${fleet.faults.slice(0, 10).join("; ")}`);
  await fleet.stop().catch((thrown: unknown) => console.error(thrown));
  await plane.stop();
}
process.exit(fleet.faults.length > 0 ? 1 : 0);

async function measure(): Promise<void> {
  await until(
    "the API server calls the operator's webhooks",
    async () => (await asksWebhooks(plane.kube)) || undefined,
  );
  await fleet.operators.untilEachLeads();
  await sleep(START_MS);
  const rssMbEmpty = (await fleet.operators.use(START_MS)).rssMb;
  const creation = await fleet.creation(count, atOnce);
  say(`creation: ${JSON.stringify(creation)}`);
  const rest = await fleet.rest(count);
  const ended = fleet.operators.ends;
  const shape = { clusters: count, members, namespaces: namespaces.length, atOnce, tls, shards };
  const made = { bench: "fleet", ...shape, ...creation, ...rest, rssMbEmpty };
  if (isBrief) return print({ ...made, operatorEnded: ended });
  const restart = await fleet.restart(count);
  say(`restart: ${JSON.stringify(restart)}`);
  const { clusters } = fleet;
  const edit = await fleet.edit(clusters.nameOf(0));
  const deadToldSeconds = await fleet.kill(clusters.nameOf(1));
  const others = Array.from({ length: Math.max(1, silent) }, (_, n) => clusters.nameOf(count - 1 - n));
  const { told, toldWorst } = await fleet.silence(others);
  const beside = silent === 0 ? undefined : await fleet.edit(clusters.nameOf(2));
  const takenOver = shards === 1 ? {} : await fleet.takeover(count);
  const operatorEnded = ended + fleet.operators.ends;
  print({
    ...made,
    operatorEnded,
    ...restart,
    editSeconds: edit.seconds,
    editFirstActSeconds: edit.firstActSeconds,
    deadToldSeconds,
    silentToldSeconds: told,
    silentToldWorstSeconds: toldWorst,
    ...(beside === undefined
      ? {}
      : { silent, editBesideSilentSeconds: beside.seconds, editBesideSilentFirstActSeconds: beside.firstActSeconds }),
    ...takenOver,
  });
}

import {
  CLIENT_TRUST_ANNOTATION,
  KEY_FILE,
  PEER_TRUST_ANNOTATION,
  REMOVAL_ANNOTATION,
  ROTATE_CA_ANNOTATION,
} from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { parsedIn } from "#certificates/pem.ts";
import type { WorldOptions } from "#kit/world.ts";
import { CRASHES } from "#kit/world-containers.ts";
import { CLUSTER, NAMESPACE } from "#kit/world-people.ts";
import { SPOILT } from "#kit/world-secrets.ts";
import { PODS, SECRETS, type Secret } from "#kube/kinds.ts";
import { INVARIANTS } from "../invariants.ts";
import { Memory } from "../memory.ts";
import { certificationOf } from "../tls-invariants.ts";
import { Scene, type Story } from "./scene.ts";

/** Longer than a Secret takes to be read again when nothing is under way: there are nine objects, one in a minute. */
const READ_AGAIN_MS = 10 * 60_000;
/** Longer than a rotation: three phases of two and a half minutes each, and two restarts of everybody. */
const ROTATION_MS = 20 * 60_000;
const HOUR_MS = 3_600_000;

/** A scene of which every promise is asked all the time. */
export class Certified extends Scene {
  readonly broken: string[];

  constructor(tls: object, more: Partial<WorldOptions> = {}) {
    const broken: string[] = [];
    const memory = new Memory();
    super(3, {
      tls,
      ...more,
      happened: (event, world) => {
        for (const { name, breaks } of INVARIANTS) {
          const detail = breaks(event, world, memory);
          if (detail !== undefined) broken.push(`${name}: ${detail}`);
        }
        memory.note(event, world);
        if (event.is !== "step") this.events.push(event);
      },
    });
    this.broken = broken;
  }

  secret(name: string): Secret | undefined {
    return this.world.api.find(SECRETS, { namespace: NAMESPACE, name: `${CLUSTER}-${name}` });
  }

  /** A person writes something else into the Secret. */
  write(name: string, change: (data: Readonly<Record<string, string>>) => Readonly<Record<string, string>>): void {
    const secret = this.secret(name);
    if (secret === undefined) throw new Error(`there is no Secret ${name}`);
    this.world.api.update("person", SECRETS, secret, { data: change(secret.data ?? {}) });
  }

  rotate(side: "peer" | "client" | "all" | undefined): void {
    const { cluster } = this;
    const { [ROTATE_CA_ANNOTATION]: _, ...others } = cluster.metadata.annotations ?? {};
    const annotations = side === undefined ? others : { ...others, [ROTATE_CA_ANNOTATION]: side };
    this.world.api.update("person", ETCD_CLUSTERS, cluster, { metadata: { ...cluster.metadata, annotations } });
  }

  restarts(): readonly string[] {
    return this.did().filter((did) => did.startsWith("restartPod"));
  }

  /** Whom the operator has restarted or given up. */
  tornDown(): readonly string[] {
    return this.events.flatMap((event) => {
      if (event.is !== "write" || event.actor !== "operator") return [];
      const { resource, verb, before, after } = event;
      const isGivenUp = resource === ETCD_PEERS && after?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined;
      const isRestarted = resource === PODS && verb === "delete";
      return isGivenUp || isRestarted ? [`${verb} ${resource.kind} ${(before ?? after)?.metadata.name}`] : [];
    });
  }

  /** How many authorities each pod trusts. */
  trusted(annotation: string): readonly number[] {
    return this.world.api.list(PODS).map((pod) => parsedIn(pod.metadata.annotations?.[annotation] ?? "").length);
  }

  /** Until nothing is wrong any more; this long at the most. */
  async untilRight(mostMs: number): Promise<void> {
    const endMs = this.world.time.nowMs + mostMs;
    while (this.wrong() !== undefined && this.broken.length === 0 && this.world.time.nowMs < endMs)
      await this.forMs(30_000);
  }

  /** What is wrong in the end, if anything is. */
  wrong(): string | undefined {
    const [broken] = this.broken;
    const certified = certificationOf(this.world, this.cluster);
    const said = ["TLSReady", "Ready"].map((type) => this.condition(type));
    const bad = said.find((each) => each?.status !== "True");
    return (
      broken ??
      certified.wrong ??
      certified.unfinished ??
      (bad === undefined ? undefined : `${bad.type} is ${bad.status} (${bad.reason}: ${bad.message})`)
    );
  }
}

export async function certified(tls: object = {}, more: Partial<WorldOptions> = {}): Promise<Certified> {
  const made = new Certified(tls, more);
  await made.start();
  await made.untilQuiet();
  const wrong = made.wrong();
  if (wrong !== undefined) throw new Error(`the cluster did not come up: ${wrong}`);
  return made;
}

/** Somebody asks for other authorities. Nobody is left out meanwhile, and in the end the new ones alone are trusted. */
export const rotationLeavesSomebodyOut: Story = async () => {
  const of = await certified();
  const before = ["peer-ca", "client-ca"].map((name) => of.secret(name)?.data?.[KEY_FILE]);
  of.rotate("all");
  await of.forMs(ROTATION_MS);
  if (of.secret("peer-ca")?.data?.[KEY_FILE] === before[0]) return "the authority of members is the same";
  if (of.secret("client-ca")?.data?.[KEY_FILE] === before[1]) return "the authority of clients is the same";
  for (const annotation of [PEER_TRUST_ANNOTATION, CLIENT_TRUST_ANNOTATION])
    if (of.trusted(annotation).some((count) => count !== 1)) return `pods trust ${of.trusted(annotation)} authorities`;
  return of.wrong();
};

/** Longer than kubelets take by default to bring a Secret into a pod that runs: with a `syncFrequency` of five minutes it may be seven and a half. */
const LATE_MS = 10 * 60_000;

/** Somebody asks for other authorities, and from each change of a Secret on no kubelet brings anything for ten minutes. */
export const lateSecretsCutOff: Story = async () => {
  for (const side of ["peer", "client"] as const) {
    const of = await certified();
    const shown = () => of.secret(side === "peer" ? "peer-tls" : "server-tls")?.data?.["tls.crt"];
    of.rotate(side);
    for (let looks = 0, before = shown(); looks < 800 && of.broken.length === 0; looks++) {
      if (shown() !== before)
        for (const node of of.world.kubelets.nodes) node.bringsFromMs = of.world.time.nowMs + LATE_MS;
      before = shown();
      await of.forMs(5_000);
    }
    const wrong = of.wrong();
    if (wrong !== undefined) return `${side}: ${wrong}`;
  }
  return undefined;
};

/** Somebody asks for other authorities where all members are on one node, whose kubelet gives new pods what it has for others. */
export const keptSecretsCutOff: Story = async () => {
  for (const side of ["peer", "client"] as const) {
    const of = new Certified({});
    for (const node of of.world.kubelets.nodes.slice(1)) node.isUp = false;
    await of.start();
    await of.untilQuiet();
    of.rotate(side);
    await of.forMs(ROTATION_MS);
    const wrong = of.wrong();
    if (wrong !== undefined) return `${side}: ${wrong}`;
  }
  return undefined;
};

/** The operator dies whenever anything of a rotation has been written. */
export const rotationNeedsAMemory: Story = async () => {
  const of = await certified();
  of.rotate("all");
  const { world } = of;
  const changes = () => of.events.filter((event) => event.is === "write" && event.resource === SECRETS).length;
  for (let looks = 0, before = changes(); looks < 400 && changes() < before + 14; looks++) {
    const seen = changes();
    await of.forMs(5_000);
    if (changes() === seen) continue;
    world.crashOperator();
    await of.forMs(1_000);
    world.startOperator();
  }
  await of.forMs(ROTATION_MS);
  return of.wrong();
};

/** What lasts for hours is renewed in time, and nobody restarts for it. */
export const renewalRestarts: Story = async () => {
  const life = { provider: "Operator", duration: "2h", renewBefore: "45m" };
  const of = await certified({ peer: life, client: life });
  const first = of.secret("peer-tls")?.data?.[KEY_FILE];
  await of.forMs(1.5 * HOUR_MS);
  if (of.secret("peer-tls")?.data?.[KEY_FILE] === first) return "what members show each other was not renewed";
  return of.restarts().length > 0 ? `members were restarted: ${of.restarts()}` : of.wrong();
};

/** Every time was over before an operator ran again: nobody could ask anybody, and all the same it ends well. */
export const endedIsForEver: Story = async () => {
  const life = { provider: "Operator", duration: "4h", renewBefore: "1h" };
  const of = await certified({ peer: life, client: life });
  of.world.crashOperator();
  of.world.time.nowMs += 9 * HOUR_MS;
  await of.forMs(60_000);
  if (of.world.etcd.leaderOf(of.process("db-0")) !== undefined) return "somebody leads who is not believed";
  of.world.startOperator();
  await of.forMs(READ_AGAIN_MS);
  return of.restarts().length > 0 ? `members were restarted: ${of.restarts()}` : of.wrong();
};

const SECRET_NAMES = ["peer-ca", "client-ca", "peer-tls", "server-tls", "operator-tls", "client"] as const;

/** One Secret after another is deleted, and is there again. */
export const deletedIsForEver: Story = async () => {
  const of = await certified();
  for (const name of SECRET_NAMES) {
    of.world.api.delete("person", SECRETS, { namespace: NAMESPACE, name: `${CLUSTER}-${name}` });
    const before = of.restarts().length;
    await of.untilRight(READ_AGAIN_MS + ROTATION_MS);
    const wrong = of.wrong();
    if (wrong !== undefined) return `without Secret ${name}: ${wrong}`;
    // Whom members are to trust they are told by a restart, and so it is settled what they show: each of them three times.
    const most = name.endsWith("-ca") ? 9 : 0;
    if (of.restarts().length > before + most) return `without Secret ${name}: ${of.restarts().slice(before)}`;
  }
  return undefined;
};

/** Somebody spoils what is shown. It is made anew, and whoever runs meanwhile runs on. */
export const spoiltIsKept: Story = async () => {
  const of = await certified();
  for (const spoil of SPOILT)
    for (const name of ["peer-tls", "server-tls", "operator-tls", "client"] as const) {
      const other = of.secret(name === "peer-tls" ? "server-tls" : "peer-tls");
      if (other === undefined) return "there is nothing to mistake it for";
      of.write(name, (data) => spoil(data, other.data ?? {}));
      await of.forMs(60_000);
      await of.untilRight(READ_AGAIN_MS);
      const wrong = of.wrong();
      const which = `Secret ${name}, spoilt in way ${SPOILT.indexOf(spoil)}`;
      if (wrong !== undefined) return `${which}: ${wrong}`;
      if (of.tornDown().length > 0) return `${which}: ${of.tornDown()}`;
    }
  return undefined;
};

/** Where what pods are to show is gone, none is made that could not start; it comes when the Secret is there again. */
export const podStartsWithoutItsSecret: Story = async () => {
  const of = await certified();
  const { api } = of.world;
  of.world.crashOperator();
  const pod = api.list(PODS)[0];
  if (pod === undefined) return "there is no pod";
  api.delete("person", SECRETS, { namespace: NAMESPACE, name: `${CLUSTER}-peer-tls` });
  api.delete("person", PODS, pod.metadata);
  await of.forMs(5 * 60_000);
  const running = of.world.etcd.processes.size;
  if (running !== 2) return `${running} run, and one has nothing to show`;
  of.world.startOperator();
  await of.forMs(READ_AGAIN_MS);
  return of.world.etcd.processes.size === 3 ? of.wrong() : "the member does not come back";
};

/** The clock of the operator's node is two hours wrong, either way, and right again. */
export const clockIsBelieved: Story = async () => {
  const life = { provider: "Operator", duration: "8h", renewBefore: "3h" };
  for (const skewMs of [-2 * HOUR_MS, 2 * HOUR_MS]) {
    const of = await certified({ peer: life, client: life });
    of.world.time.skewMs = skewMs;
    of.rotate("all");
    await of.forMs(ROTATION_MS);
    of.world.time.skewMs = 0;
    await of.forMs(ROTATION_MS);
    const wrong = of.wrong();
    if (wrong !== undefined) return `${skewMs / HOUR_MS} h: ${wrong}`;
  }
  return undefined;
};

const WITHOUT = { tls: { peer: { provider: "None" }, client: { provider: "None", plaintextFor: "20s" } } };

/** TLS is switched off, and its Secrets are deleted as the status says; then members get something new, with which they come up and do not. */
export const switchedOffComesBack: Story = async () => {
  const of = await certified();
  const said = () => `TLSReady is ${of.condition("TLSReady")?.reason} (${of.condition("TLSReady")?.message})`;
  const isOff = () => of.condition("TLSReady")?.reason === "TLSDisabled";
  of.edit(WITHOUT as Partial<EtcdCluster["spec"]>);
  for (let looks = 0; !isOff() && looks < 240; looks++) await of.forMs(5_000);
  if (!isOff()) return said();
  for (const name of SECRET_NAMES)
    of.world.api.delete("person", SECRETS, { namespace: NAMESPACE, name: `${CLUSTER}-${name}` });
  await of.untilQuiet();
  const before = of.restarts().length;
  of.edit({ podTemplate: { metadata: { annotations: { "example.test/edit": "1" } } } });
  for (let looks = 0; looks < 600; looks++) {
    await of.forMs(1_000);
    if (!isOff()) return said();
  }
  if (of.restarts().length !== before + 3) return `an edit restarted ${of.restarts().slice(before)}`;
  of.edit({ podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } });
  for (let looks = 0; looks < 600; looks++) {
    await of.forMs(1_000);
    if (!isOff()) return `while somebody crashes ${said()}`;
    const { reason, message } = of.condition("Progressing") ?? {};
    if (reason === "StepRefused") return message;
  }
  const { size } = of.world.etcd.processes;
  return size === 3 ? of.broken[0] : `${size} run: who crashed was not put back`;
};

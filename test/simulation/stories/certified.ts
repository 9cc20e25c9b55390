import {
  CLIENT_TRUST_ANNOTATION,
  KEY_FILE,
  PEER_TRUST_ANNOTATION,
  REMOVAL_ANNOTATION,
  ROTATE_CA_ANNOTATIONS,
} from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { parsedIn } from "#certificates/pem.ts";
import { CRASHES } from "#kit/world/containers.ts";
import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import { SPOILT } from "#kit/world/secrets.ts";
import type { WorldOptions } from "#kit/world/world.ts";
import { PODS, SECRETS, type Secret } from "#kube/kinds.ts";
import { INVARIANTS } from "../invariants.ts";
import { Memory } from "../memory.ts";
import { certificationOf } from "../tls-invariants.ts";
import { Scene, type Story } from "./scene.ts";

/** Longer than it takes to reread all Secrets at rest: there are nine objects, and one is read per minute. */
const READ_AGAIN_MS = 10 * 60_000;
/** Longer than a rotation: three phases of two and a half minutes each, and two restarts of every member. */
const ROTATION_MS = 20 * 60_000;
const HOUR_MS = 3_600_000;

/** A scene in which every promise is checked at every event. */
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

  /** Overwrites the Secret as a person. */
  write(name: string, change: (data: Readonly<Record<string, string>>) => Readonly<Record<string, string>>): void {
    const secret = this.secret(name);
    if (secret === undefined) throw new Error(`there is no Secret ${name}`);
    this.world.api.update("person", SECRETS, secret, { data: change(secret.data ?? {}) });
  }

  rotate(side: "peer" | "client" | "all" | undefined): void {
    const { cluster } = this;
    const { peer, client } = ROTATE_CA_ANNOTATIONS;
    const { [peer]: _, [client]: __, ...others } = cluster.metadata.annotations ?? {};
    const annotations = {
      ...others,
      ...((side === "peer" || side === "all") && { [peer]: "1" }),
      ...((side === "client" || side === "all") && { [client]: "1" }),
    };
    this.world.api.update("person", ETCD_CLUSTERS, cluster, { metadata: { ...cluster.metadata, annotations } });
  }

  restarts(): readonly string[] {
    return this.did().filter((did) => did.startsWith("restartPod"));
  }

  /** Members that the operator has restarted or given up. */
  tornDown(): readonly string[] {
    return this.events.flatMap((event) => {
      if (event.is !== "write" || event.actor !== "operator") return [];
      const { resource, verb, before, after } = event;
      const isGivenUp = resource === ETCD_PEERS && after?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined;
      const isRestarted = resource === PODS && verb === "delete";
      return isGivenUp || isRestarted ? [`${verb} ${resource.kind} ${(before ?? after)?.metadata.name}`] : [];
    });
  }

  /** Number of CAs that each pod trusts. */
  trusted(annotation: string): readonly number[] {
    return this.world.api.list(PODS).map((pod) => parsedIn(pod.metadata.annotations?.[annotation] ?? "").length);
  }

  /** Waits until nothing is wrong any more, for this long at most. */
  async untilRight(mostMs: number): Promise<void> {
    const endMs = this.world.time.nowMs + mostMs;
    while (this.wrong() !== undefined && this.broken.length === 0 && this.world.time.nowMs < endMs)
      await this.forMs(30_000);
  }

  /** The first problem at the end, if there is any. */
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

/**
 * A person asks for rotations of both CAs. All connections keep working, and at the end only the new CAs are trusted.
 */
export const rotationCutsMembersOff: Story = async () => {
  const of = await certified();
  const before = ["peer-ca", "client-ca"].map((name) => of.secret(name)?.data?.[KEY_FILE]);
  of.rotate("all");
  await of.forMs(ROTATION_MS);
  if (of.secret("peer-ca")?.data?.[KEY_FILE] === before[0]) return "the peer CA is the same";
  if (of.secret("client-ca")?.data?.[KEY_FILE] === before[1]) return "the client CA is the same";
  for (const annotation of [PEER_TRUST_ANNOTATION, CLIENT_TRUST_ANNOTATION])
    if (of.trusted(annotation).some((count) => count !== 1)) return `pods trust ${of.trusted(annotation)} CAs`;
  return of.wrong();
};

/**
 * Longer than kubelets take by default to update a Secret in a running pod. With a `syncFrequency` of five minutes it
 * may be seven and a half.
 */
const LATE_MS = 10 * 60_000;

/** A person asks for CA rotations. After each change of a Secret no kubelet updates any pod for ten minutes. */
export const lateSecretsCutMembersOff: Story = async () => {
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

/** A person asks for CA rotations while all members are on one node. Its kubelet gives new pods its cached Secrets. */
export const cachedSecretsCutMembersOff: Story = async () => {
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

/** The operator crashes after every write of a rotation. */
export const rotationIsLostInCrash: Story = async () => {
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

/** Certificates that last for hours are renewed in time, without restarts. */
export const renewalRestartsMembers: Story = async () => {
  const life = { provider: "Operator", duration: "2h", renewBefore: "45m" };
  const of = await certified({ peer: life, client: life });
  const first = of.secret("peer-tls")?.data?.[KEY_FILE];
  await of.forMs(1.5 * HOUR_MS);
  if (of.secret("peer-tls")?.data?.[KEY_FILE] === first) return "the peer certificate was not renewed";
  return of.restarts().length > 0 ? `members were restarted: ${of.restarts()}` : of.wrong();
};

/**
 * All certificates expire while no operator runs. Members cannot connect to each other, and the next operator repairs
 * that.
 */
export const expiredCertificatesStay: Story = async () => {
  const life = { provider: "Operator", duration: "4h", renewBefore: "1h" };
  const of = await certified({ peer: life, client: life });
  of.world.crashOperator();
  of.world.time.nowMs += 9 * HOUR_MS;
  await of.forMs(60_000);
  if (of.world.etcd.leaderOf(of.process("db-0")) !== undefined) return "a member with an expired certificate leads";
  of.world.startOperator();
  await of.forMs(READ_AGAIN_MS);
  return of.restarts().length > 0 ? `members were restarted: ${of.restarts()}` : of.wrong();
};

/**
 * Milliseconds until a member with an emptied disk is given up. The disk is emptied seconds after the cluster became
 * Ready.
 */
async function givenUpAfterMs(of: Scene): Promise<number> {
  await of.start();
  while (of.condition("Ready")?.status !== "True") await of.forMs(500);
  await of.forMs(10_000);
  const { disk } = of.process("db-2");
  for (const process of of.world.etcd.processes.values()) if (process.peer === "db-2") of.world.etcd.empty(disk);
  const { time } = of.world;
  const sinceMs = time.nowMs;
  const isGivenUp = () => of.did().some((did) => did.startsWith("markRemoval"));
  while (!isGivenUp() && time.nowMs < sinceMs + 10 * 60_000) await of.forMs(500);
  return time.nowMs - sinceMs;
}

/** A young cluster with TLS heals as fast as one without: its pods are newer than the Secrets that they mount. */
export const youngTlsClusterHealsLate: Story = async () => {
  const plainMs = await givenUpAfterMs(new Scene(3));
  const secureMs = await givenUpAfterMs(new Certified({}));
  const isLate = secureMs > plainMs + 5_000;
  return isLate ? `a lost member is given up after ${secureMs} ms, and after ${plainMs} ms without TLS` : undefined;
};

const SECRET_NAMES = ["peer-ca", "client-ca", "peer-tls", "server-tls", "operator-tls", "client"] as const;

/** Each Secret is deleted in turn, and is created again. */
export const deletedSecretStaysDeleted: Story = async () => {
  const of = await certified();
  for (const name of SECRET_NAMES) {
    of.world.api.delete("person", SECRETS, { namespace: NAMESPACE, name: `${CLUSTER}-${name}` });
    const before = of.restarts().length;
    await of.untilRight(READ_AGAIN_MS + ROTATION_MS);
    const wrong = of.wrong();
    if (wrong !== undefined) return `without Secret ${name}: ${wrong}`;
    // A new CA is rolled out by restarts: each member restarts three times.
    const most = name.endsWith("-ca") ? 9 : 0;
    if (of.restarts().length > before + most) return `without Secret ${name}: ${of.restarts().slice(before)}`;
  }
  return undefined;
};

/** A person spoils each certificate. It is issued again, and running members keep running. */
export const spoiltSecretIsKept: Story = async () => {
  const of = await certified();
  for (const spoil of SPOILT)
    for (const name of ["peer-tls", "server-tls", "operator-tls", "client"] as const) {
      const other = of.secret(name === "peer-tls" ? "server-tls" : "peer-tls");
      if (other === undefined) return "there is no other Secret to copy from";
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

/**
 * A pod is not created while its certificate Secret is missing. It starts when the Secret exists again.
 */
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
  if (running !== 2) return `${running} run, and one has no certificate`;
  of.world.startOperator();
  await of.forMs(READ_AGAIN_MS);
  return of.world.etcd.processes.size === 3 ? of.wrong() : "the member does not start again";
};

/** The clock of the operator's node is two hours wrong, in each direction, and then right again. */
export const wrongClockBreaksRotation: Story = async () => {
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

/**
 * TLS is switched off, and its Secrets are deleted as the status suggests. Then members get a working edit, and an edit
 * with which they crash.
 */
export const disabledTlsReturns: Story = async () => {
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
    if (!isOff()) return `while a member crashes, ${said()}`;
    const { reason, message } = of.condition("Progressing") ?? {};
    if (reason === "StepRefused") return message;
  }
  const { size } = of.world.etcd.processes;
  return size === 3 ? of.broken[0] : `${size} run: the member that crashed was not rolled back`;
};

import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CLIENT_PORT, METRICS_PORT, PEER_PORT, peerHost } from "#api/names.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { mainBinary } from "#dev/components.ts";
import type { EtcdVersionText } from "#kit/etcd/etcd.ts";
import { apiVersionOf, type Draft, type Pod } from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";
import { unseenPeer } from "#peer/snapshot.ts";

// A member as in its pod, but without Kubernetes: a real etcd in its own root directory. It has exactly the variables,
// flags, files and user of the pod's template. Only its addresses differ: one on loopback instead of all.

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];

/** Content of a Secret by key. */
export type SecretData = Readonly<Record<string, string>>;

const USER_ID = 65_532;
const TOOLS = ["etcd", "etcdctl"];
/** The path in etcd's own images. */
const TOOLS_PATH = "/usr/local/bin";
/** The last two are for chroot itself, and do not exist in the new root. */
const PATH = `${TOOLS_PATH}:/usr/sbin:/usr/bin`;

/** Processes must not outlive the test run, however it ends. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** The EtcdPeer that the cluster creates for a member. */
export type Drafted = Draft<EtcdPeer> & Pick<EtcdPeer, "spec">;

let addresses = 0;

/** An unused address on loopback, so that port numbers can be those of a pod. */
function newAddress(): string {
  addresses++;
  return `127.${64 + ((process.pid >> 8) & 127)}.${process.pid & 255}.${addresses}`;
}

/** Members that can resolve each other's names, and no others: there is no DNS. */
export class PodEtcd {
  readonly #root = mkdtempSync(join(tmpdir(), "pod-etcd-"));
  readonly #members: PodMember[] = [];
  readonly #hosts = new Map<string, string>();
  readonly secrets = new Map<string, SecretData>();

  /** A member that does not run yet. */
  member(peer: Drafted): PodMember {
    const { namespace = "", name } = peer.metadata;
    const host = peerHost(namespace, peer.spec.clusterName, name);
    const address = newAddress();
    this.#hosts.set(host, address);
    const root = join(this.#root, `${name}-${address}`);
    const member = new PodMember({ root, address, host, hosts: this.#hosts, secrets: this.secrets }, peer);
    this.#members.push(member);
    for (const each of this.#members) each.writeHosts();
    return member;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.kill()));
    rmSync(this.#root, { recursive: true, force: true });
  }
}

interface Place {
  readonly root: string;
  readonly address: string;
  /** Its DNS name. */
  readonly host: string;
  readonly hosts: ReadonlyMap<string, string>;
  readonly secrets: ReadonlyMap<string, SecretData>;
}

export class PodMember {
  readonly place: Place;
  readonly name: string;
  /** The EtcdPeer from which the next pod is made. */
  peer: EtcdPeer;
  /** Changes of the template's variables; `undefined` removes one. */
  readonly changed: Record<string, string | undefined> = {};
  #process: ChildProcess | undefined;
  #log = "";
  #writes = 0;

  constructor(place: Place, peer: Drafted) {
    this.place = place;
    this.peer = {
      ...peer,
      apiVersion: apiVersionOf(ETCD_PEERS),
      kind: ETCD_PEERS.kind,
      metadata: { ...peer.metadata, uid: "uid", resourceVersion: "1" },
    } as EtcdPeer;
    this.name = this.peer.metadata.name;
  }

  get clientAddress(): string {
    return `${this.place.address}:${CLIENT_PORT}`;
  }

  get peerAddress(): string {
    return `${this.place.address}:${PEER_PORT}`;
  }

  get metricsAddress(): string {
    return `${this.place.address}:${METRICS_PORT}`;
  }

  get log(): string {
    return this.#log;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  become(spec: Partial<EtcdPeerSpec>): void {
    this.peer = { ...this.peer, spec: { ...this.peer.spec, ...spec } };
  }

  template() {
    return podTemplate(
      unseenPeer({
        takenAtMs: 0,
        peer: this.peer,
        imageRepository: "registry.example/etcd",
      }),
    );
  }

  /** Creates the root directory as the kubelet and the image would, and starts the process in it. */
  start(): void {
    const { spec } = this.template();
    const [container] = spec.containers;
    if (container === undefined) throw new Error("a member has a container");
    this.#image();
    this.writeHosts();
    for (const { name, mountPath } of container.volumeMounts ?? []) this.#mount(spec, name, mountPath);
    this.#log = "";
    this.#process = this.#spawned([...(container.command ?? []), ...(container.args ?? [])], this.variables(container));
    const child = this.#process;
    running.add(child);
    child.once("exit", () => running.delete(child));
    child.stderr?.on("data", (bytes: Buffer) => {
      this.#log = (this.#log + bytes.toString()).slice(-(1024 ** 2));
    });
  }

  /** The variables as the kubelet resolves them when it starts the container. */
  variables({ env = [] }: Container): Record<string, string> {
    const { annotations } = this.template().metadata;
    const resolved = env.map(({ name, value, valueFrom }) => {
      const path = valueFrom?.fieldRef?.fieldPath ?? "";
      return [name, value ?? annotations[/\['(.*)'\]/.exec(path)?.[1] ?? ""] ?? ""] as const;
    });
    const all: Record<string, string | undefined> = { ...Object.fromEntries(resolved), ...this.changed };
    const said = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return Object.fromEntries(said.map(([name, value]) => [name, value.replaceAll("0.0.0.0", this.place.address)]));
  }

  /** Updates the files as the kubelet does after a change of a Secret, or of an annotation of the running pod. */
  refresh(): void {
    const { spec } = this.template();
    for (const { name, mountPath } of spec.containers[0]?.volumeMounts ?? []) this.#mount(spec, name, mountPath);
  }

  /**
   * Runs the startup probe as the kubelet does.
   * @returns its output
   * @throws Error when it fails
   */
  async probe(): Promise<string> {
    return await this.exec(this.template().spec.containers[0]?.startupProbe?.exec?.command ?? []);
  }

  /**
   * Runs a command as `kubectl exec` does in etcd's container.
   * @returns its output
   * @throws Error when it fails
   */
  async exec(command: readonly string[]): Promise<string> {
    const [container] = this.template().spec.containers;
    const env = { PATH, ...(container === undefined ? {} : this.variables(container)) };
    return await new Promise((resolve, reject) => {
      execFile("chroot", this.#chroot(command), { env, timeout: 5_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${error.killed === true ? "killed: " : ""}${stderr}`));
      });
    });
  }

  /**
   * Runs etcdctl next to etcd, with its files.
   * @returns both its outputs, and whether it succeeded
   */
  async etcdctl(...args: readonly string[]): Promise<{ readonly isDone: boolean; readonly told: string }> {
    const command = this.#chroot(["etcdctl", "--dial-timeout=3s", "--command-timeout=3s", ...args]);
    return await new Promise((resolve) => {
      execFile("chroot", command, { env: { PATH }, timeout: 10_000 }, (error, stdout, stderr) =>
        resolve({ isDone: error === null, told: stdout + stderr }),
      );
    });
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    }
    this.#process = undefined;
  }

  #spawned(command: readonly string[], env: Record<string, string>): ChildProcess {
    return spawn("chroot", this.#chroot(command), {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH, ...env },
    });
  }

  #chroot(command: readonly string[]): string[] {
    return [`--userspec=${USER_ID}:${USER_ID}`, "--groups=", this.place.root, ...command];
  }

  #image(): void {
    const { root } = this.place;
    const version = this.peer.spec.version as EtcdVersionText;
    mkdirSync(join(root, TOOLS_PATH), { recursive: true });
    for (const tool of TOOLS) {
      const file = join(root, TOOLS_PATH, tool);
      rmSync(file, { force: true });
      linkOrCopy(join(dirname(mainBinary(`etcd-${version}`)), tool), file);
    }
    // No DNS server listens there, so that unknown names fail at once.
    writeFileSync(join(root, "/etc/resolv.conf"), "nameserver 127.0.0.1\n");
  }

  /** Writes the names that the member can resolve. */
  writeHosts(): void {
    const { root, hosts } = this.place;
    mkdirSync(join(root, "/etc"), { recursive: true });
    writeFileSync(join(root, "/etc/hosts"), [...hosts].map(([host, address]) => `${address} ${host}\n`).join(""));
  }

  #mount(spec: Spec, name: string, mountPath: string): void {
    const volume = spec.volumes?.find((each) => each.name === name);
    const dir = join(this.place.root, mountPath);
    mkdirSync(dir, { recursive: true });
    if (volume?.projected === undefined) {
      chownSync(dir, USER_ID, USER_ID);
      return;
    }
    const { annotations } = this.template().metadata;
    const files = volume.projected.sources?.flatMap(({ secret, downwardAPI }) => [
      ...(secret?.items ?? []).map(({ key, path }) => [path, this.#secret(secret?.name ?? "")[key]] as const),
      ...(downwardAPI?.items ?? []).map(
        ({ path, fieldRef }) => [path, annotations[/\['(.*)'\]/.exec(fieldRef?.fieldPath ?? "")?.[1] ?? ""]] as const,
      ),
    ]);
    this.#swap(dir, files ?? [], volume.projected.defaultMode ?? 0o644);
  }

  #secret(name: string): SecretData {
    const data = this.place.secrets.get(name);
    if (data === undefined) throw new Error(`Secret ${name} does not exist`);
    return data;
  }

  /** Replaces all files at once with one symbolic link, as the kubelet does. */
  #swap(dir: string, files: readonly (readonly [string, string | undefined])[], mode: number): void {
    const next = `..${++this.#writes}`;
    mkdirSync(join(dir, next));
    for (const [path, content] of files) {
      if (content === undefined) throw new Error(`${path} has no content`);
      const file = join(dir, next, path);
      writeFileSync(file, content);
      chownSync(file, 0, USER_ID);
      chmodSync(file, mode);
      rmSync(join(dir, path), { force: true });
      symlinkSync(join("..data", path), join(dir, path));
    }
    symlinkSync(next, join(dir, "..new"));
    renameSync(join(dir, "..new"), join(dir, "..data"));
  }
}

/** A file on another file system cannot be linked. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
  chmodSync(to, 0o755);
}

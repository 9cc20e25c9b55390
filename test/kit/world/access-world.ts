// biome-ignore-all lint/suspicious/useAwait: what is thrown is a promise that fails, as those of the real ones are.
import { AccessReads } from "#access/reads.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { OperatorError } from "#base/error.ts";
import { absent, present } from "#base/observed.ts";
import { issuer } from "#certificates/issue.ts";
import { Keyring } from "#certificates/keyring.ts";
import type { EtcdAuth, KeyRange, Permission } from "#etcd/auth.ts";
import { etcdOf } from "#kit/snapshots/access.ts";
import { NOW, pod } from "#kit/snapshots/cluster.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject, Pod, Ref, Resource, Secret } from "#kube/kinds.ts";
import { roleController } from "#role/controller.ts";
import { userController } from "#user/controller.ts";
import { BindingReads } from "#user/reads.ts";
import { type AuthChange, AuthStore } from "./auth.ts";

// A fake API server and a fake etcd for the controllers of EtcdRoles and EtcdUsers. The operator can die before or
// after any write.

const signal = new AbortController().signal;

/** The operator has died. */
export class Died extends Error {}

type Live = KubeObject & {
  metadata: { namespace: string; finalizers?: readonly string[]; deletionTimestamp?: string };
};

export class AccessWorld {
  readonly clock = new FakeClock(NOW);
  readonly objects = new Map<string, Live>();
  readonly etcd = new FakeAuth(() => this.#write());
  cluster: EtcdCluster | undefined;
  pods: readonly Pod[] = [pod("my-etcd-0", { ready: true })];
  /** Requests to the API server for Secrets. What etcd was asked is in `etcd.calls`. */
  secretsRead = 0;
  /** The operator dies at the write of this number: after it if `isDone`, else before it. */
  dies: { at: number; isDone: boolean } = { at: Number.POSITIVE_INFINITY, isDone: false };
  writes = 0;
  #version = 100;
  #operator = this.#start();

  constructor(cluster = etcdOf(null)) {
    this.cluster = cluster;
  }

  put<T extends KubeObject>({ plural }: Resource<T>, object: T): void {
    this.objects.set(`${plural}/${object.metadata.name}`, object as unknown as Live);
  }

  get<T extends KubeObject>({ plural }: Resource<T>, name: string): T | undefined {
    return this.objects.get(`${plural}/${name}`) as unknown as T | undefined;
  }

  /** A change by a person. */
  edit<T extends KubeObject>(of: Resource<T>, name: string, change: (object: T) => T): void {
    const before = this.get(of, name);
    if (before === undefined) throw new Error(`${of.plural}/${name} does not exist`);
    const after = change(before);
    this.put(of, { ...after, metadata: { ...after.metadata, resourceVersion: String(++this.#version) } });
  }

  delete<T extends KubeObject>(of: Resource<T>, name: string): void {
    this.edit(of, name, (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: new Date(this.clock.wallMs()).toISOString() },
    }));
  }

  secret(name: string): Readonly<Record<string, string>> | undefined {
    const { data } = (this.objects.get(`secrets/${name}`) as unknown as Secret | undefined) ?? {};
    return (
      data &&
      Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]))
    );
  }

  /** A new operator process takes over, with empty memory. */
  restart(): void {
    this.#operator = this.#start();
  }

  /**
   * Runs passes over all objects until nothing is left to do. An operator that dies is replaced by a new one.
   * @returns what each object waits for, or that it is settled, in the last round
   */
  async settle(): Promise<readonly string[]> {
    for (let round = 0; round < 80; round++) {
      const said: string[] = [];
      let isBusy = false;
      for (const [kind, controller] of [
        [ETCD_ROLES, this.#operator.role],
        [ETCD_USERS, this.#operator.user],
      ] as const) {
        for (const name of this.#namesOf(kind)) {
          try {
            const word = await this.#pass(controller as never, name);
            isBusy ||= word === undefined;
            if (word !== undefined) said.push(`${name}: ${word}`);
          } catch (thrown) {
            if (!(thrown instanceof Died)) throw thrown;
            this.dies = { at: Number.POSITIVE_INFINITY, isDone: false };
            this.restart();
            isBusy = true;
          }
        }
      }
      if (!isBusy) return said;
    }
    throw new Error("the objects are not settled after 80 rounds");
  }

  /** @returns the rule the object waits for, or "settled" or "gone"; undefined when the pass changed something */
  async #pass(controller: ReturnType<typeof roleController>, name: string): Promise<string | undefined> {
    const seen = await controller.observe({ namespace: "foo", name }, signal);
    if (seen.is !== "present") return "gone";
    const plan = controller.plan(seen.value, () => undefined);
    if (plan.next === "step") {
      try {
        await controller.act(plan.step, seen.value, signal);
      } catch (thrown) {
        if (!(thrown instanceof OperatorError)) throw thrown;
        if (!["KubeConflict", "EtcdRejected"].includes(thrown.code)) return `${plan.rule} failed: ${thrown.message}`;
      }
      return undefined;
    }
    const written = await controller.writeStatus(seen.value, controller.status(seen.value, plan), signal);
    if (written !== undefined) return undefined;
    return plan.next === "wait" ? plan.rule : "settled";
  }

  #namesOf({ plural }: Resource<EtcdRole> | Resource<EtcdUser>): readonly string[] {
    return [...this.objects.keys()].filter((key) => key.startsWith(`${plural}/`)).map((key) => key.split("/")[1] ?? "");
  }

  #start() {
    const kube = this.#kube() as never;
    const identities = new Keyring();
    const all = <T>(plural: string) =>
      [...this.objects].filter(([key]) => key.startsWith(`${plural}/`)).map(([, each]) => each) as T[];
    const view = <T>(plural: string) => ({
      get: ({ name }: Ref) => this.objects.get(`${plural}/${name}`) as T | undefined,
      byIndex: () => all<T>(plural),
    });
    const pods = { get: () => undefined, byIndex: () => this.pods };
    const access = new AccessReads({ pods, etcd: this.etcd, identities, kube, clock: this.clock, stop: signal });
    const bindings = new BindingReads(kube, this.clock);
    const clusters = { get: () => this.cluster };
    const common = { access, clusters, clock: this.clock };
    const role = roleController({ kube, access }, { ...common, roles: view<EtcdRole>("etcdroles") });
    const peers = view<EtcdPeer>("etcdpeers");
    const reads = { ...common, users: view<EtcdUser>("etcdusers"), peers, pods, bindings, identities, kube };
    const user = userController({ kube, access, bindings, issuer }, reads);
    return { role, user };
  }

  /** @throws Died before the write, depending on `dies`; the returned function throws it after the write */
  #write(): (() => void) | undefined {
    this.writes++;
    if (this.writes !== this.dies.at) return undefined;
    if (!this.dies.isDone) throw new Died();
    return () => {
      throw new Died();
    };
  }

  #stored(key: string, object: Live): Live {
    const after = this.#write();
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    if (stored.metadata.deletionTimestamp !== undefined && stored.metadata.finalizers?.length === 0)
      this.objects.delete(key);
    else this.objects.set(key, stored);
    after?.();
    return stored;
  }

  #kube() {
    const keyOf = ({ plural }: Resource<Live>, name: string) => `${plural}/${name}`;
    const live = (of: Resource<Live>, name: string): Live => {
      const found = this.objects.get(keyOf(of, name));
      if (found === undefined) throw new OperatorError("KubeNotFound", `${keyOf(of, name)} is not there`);
      return found;
    };
    const need = (of: Resource<Live>, name: string, version: string | undefined) => {
      const found = live(of, name);
      if (version !== undefined && found.metadata.resourceVersion !== version)
        throw new OperatorError("KubeConflict", "it has changed");
      return found;
    };
    return {
      find: (of: Resource<Live>, { name }: Ref) => {
        if (of.plural === "secrets") this.secretsRead++;
        const found = this.objects.get(keyOf(of, name));
        return Promise.resolve(found === undefined ? absent : present(found));
      },
      get: async (of: Resource<Live>, { name }: Ref) => live(of, name),
      create: async (of: Resource<Live>, draft: Live) => {
        const key = keyOf(of, draft.metadata.name);
        if (this.objects.has(key)) throw new OperatorError("KubeAlreadyExists", `${key} exists`);
        return this.#stored(key, { ...draft, metadata: { ...draft.metadata, uid: `uid-${++this.#version}` } });
      },
      replace: async (of: Resource<Live>, object: Live) => {
        need(of, object.metadata.name, object.metadata.resourceVersion);
        return this.#stored(keyOf(of, object.metadata.name), object);
      },
      patch: async (
        of: Resource<Live>,
        { name }: Ref,
        patch: { metadata: object },
        options: { preconditions: { resourceVersion: string } },
      ) => {
        const before = need(of, name, options.preconditions.resourceVersion);
        return this.#stored(keyOf(of, name), { ...before, metadata: { ...before.metadata, ...patch.metadata } });
      },
    };
  }
}

/** etcd's users and roles in one place, without a log. Every caller is an administrator. */
export class FakeAuth extends AuthStore implements EtcdAuth {
  /** Every request, by name. */
  readonly calls: string[] = [];
  isSilent = false;
  readonly #onWrite: () => (() => void) | undefined;

  constructor(onWrite: () => (() => void) | undefined) {
    super();
    this.#onWrite = onWrite;
  }

  /** A change by a person with etcdctl. */
  byHand(change: () => void): void {
    change();
    this.revision++;
  }

  #note(call: string): void {
    this.calls.push(call);
    if (this.isSilent) throw new OperatorError("EtcdUnavailable", `${call}: no answer`);
  }

  /** A refused change is not recorded, and the operator does not die of it. */
  #written(call: string, change: AuthChange): void {
    this.check(change);
    this.#note(call);
    const after = this.#onWrite();
    this.change(change);
    after?.();
  }

  async authStatus() {
    this.#note("AuthStatus");
    return { enabled: this.enabled, revision: this.revision };
  }
  async authEnable() {
    this.#written("AuthEnable", { do: "enable" });
  }
  async authDisable() {
    this.#written("AuthDisable", { do: "disable" });
  }
  async authenticate(_: unknown, name: string, password: string) {
    this.#note(`Authenticate ${name}`);
    this.logIn(name, password);
  }
  async userList() {
    return [...this.users.keys()];
  }
  async userGet(_: unknown, name: string) {
    this.#note(`UserGet ${name}`);
    return this.rolesOf(name);
  }
  async userAdd(_: unknown, user: string, password: string | undefined) {
    this.#written(`UserAdd ${user}`, { do: "userAdd", user, password });
  }
  async userDelete(_: unknown, user: string) {
    this.#written(`UserDelete ${user}`, { do: "userDelete", user });
  }
  async userChangePassword(_: unknown, user: string, password: string) {
    this.#written(`UserChangePassword ${user}`, { do: "changePassword", user, password });
  }
  async userGrantRole(_: unknown, user: string, role: string) {
    this.#written(`UserGrantRole ${user} ${role}`, { do: "grantRole", user, role });
  }
  async userRevokeRole(_: unknown, user: string, role: string) {
    this.#written(`UserRevokeRole ${user} ${role}`, { do: "revokeRole", user, role });
  }
  async roleList() {
    return [...this.roles.keys()];
  }
  async roleGet(_: unknown, role: string) {
    this.#note(`RoleGet ${role}`);
    return this.permissionsOf(role);
  }
  async roleAdd(_: unknown, role: string) {
    this.#written(`RoleAdd ${role}`, { do: "roleAdd", role });
  }
  async roleDelete(_: unknown, role: string) {
    this.#written(`RoleDelete ${role}`, { do: "roleDelete", role });
  }
  async roleGrantPermission(_: unknown, role: string, permission: Permission) {
    this.#written(`RoleGrantPermission ${role}`, { do: "grantPermission", role, permission });
  }
  async roleRevokePermission(_: unknown, role: string, range: KeyRange) {
    this.#written(`RoleRevokePermission ${role}`, { do: "revokePermission", role, range });
  }
}

import { ETCD_INDEX, textOf } from "#access/calls.ts";
import { AccessReads } from "#access/reads.ts";
import type { EtcdRole, EtcdRoleStatus } from "#api/v1beta1/role.ts";
import type { EtcdUserStatus } from "#api/v1beta1/user.ts";
import type { Clock } from "#base/clock.ts";
import type { Issuer } from "#certificates/issue.ts";
import type { Keyring } from "#certificates/keyring.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { KubeClient } from "#kube/client.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { roleController } from "#role/controller.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";
import { ControlLoop } from "#runtime/control-loop.ts";
import type { Controller, Key } from "#runtime/controller.ts";
import type { PassTools } from "#runtime/pass.ts";
import { userController } from "#user/controller.ts";
import { BindingReads } from "#user/reads.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import type { UserStep } from "#user/step.ts";
import type { Caches } from "../../../src/bin/caches.ts";
import { usersWith } from "../../../src/bin/concerned.ts";

export type RoleController = Controller<RoleSnapshot, RoleStep, EtcdRoleStatus>;
export type UserController = Controller<UserSnapshot, UserStep, EtcdUserStatus>;

interface Parts {
  readonly caches: Caches;
  readonly kube: KubeClient;
  readonly etcd: EtcdClient;
  readonly identities: Keyring;
  readonly issuer: Issuer;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly tools: PassTools;
  readonly role: (real: RoleController) => RoleController;
  readonly user: (real: UserController) => UserController;
}

/**
 * The controllers of EtcdRoles and EtcdUsers, wired as in src/bin/controllers.ts.
 * @param role replaces the real controller of EtcdRoles
 * @param user replaces the real controller of EtcdUsers
 */
export function accessLoops({ caches, kube, etcd, identities, issuer, clock, stop, tools, role, user }: Parts) {
  const access = new AccessReads({ pods: caches.pods, etcd, identities, kube, clock, stop });
  const bindings = new BindingReads(kube, clock);
  const reads = { ...caches, kube, identities, access, bindings, clock };
  const { clusters, roles, users } = caches;
  return [
    new ControlLoop({
      controller: role(roleController({ kube, access }, reads)),
      watches: [
        { cache: roles, keysFor: ownKey },
        { cache: clusters, keysFor: (cluster) => keysOf(roles.byIndex(ETCD_INDEX, textOf(cluster as never))) },
      ],
      allKeys: () => keysOf(roles.list()),
      tools,
    }),
    new ControlLoop({
      controller: user(userController({ kube, access, bindings, issuer }, reads)),
      watches: [
        { cache: users, keysFor: ownKey },
        { cache: clusters, keysFor: (cluster) => keysOf(users.byIndex(ETCD_INDEX, textOf(cluster as never))) },
        { cache: roles, keysFor: (each) => keysOf(usersWith(caches, each as EtcdRole)) },
      ],
      allKeys: () => keysOf(users.list()),
      tools,
    }),
  ];
}

function keysOf(objects: readonly KubeObject[]): readonly Key[] {
  return objects.flatMap(ownKey);
}

function ownKey({ metadata }: KubeObject): readonly Key[] {
  return metadata.namespace === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name }];
}

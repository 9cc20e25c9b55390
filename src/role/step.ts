import { permissionText, rangeText } from "#access/permissions.ts";
import type { KeyRange, Permission } from "#etcd/auth.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { Guard, Rule } from "#runtime/decide.ts";

/** The steps of this controller, each of one write. */
export type RoleStep =
  | { readonly do: "holdRole" }
  | { readonly do: "releaseRole" }
  /** Records in the status that the role in etcd belongs to this object. */
  | { readonly do: "claimRole"; readonly name: string; readonly clusterID: string }
  | { readonly do: "addRole"; readonly name: string }
  | { readonly do: "grantPermission"; readonly name: string; readonly permission: Permission }
  | { readonly do: "revokePermission"; readonly name: string; readonly range: KeyRange }
  | { readonly do: "deleteRole"; readonly name: string };

export type RoleRule = Rule<RoleSnapshot, RoleStep>;
export type RoleGuard = Guard<RoleSnapshot, RoleStep>;

/** Identifies the step's target and content: steps with equal texts are retries of one step. */
export function targetTextOf(step: RoleStep): string {
  switch (step.do) {
    case "holdRole":
    case "releaseRole":
      return "";
    case "claimRole":
    case "addRole":
    case "deleteRole":
      return step.name;
    case "grantPermission":
      return `${step.name} ${permissionText(step.permission)}`;
    case "revokePermission":
      return `${step.name} ${rangeText(step.range)}`;
  }
}

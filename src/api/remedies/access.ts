import type { RoleReason, UserReason } from "#api/conditions.ts";
import { type Care, passing, remedy, SHARED } from "./remedy.ts";

const ACCESS = {
  AuthDisabled: remedy(
    "Roles and users are kept in etcd, and are not enforced.",
    "First give every application an EtcdUser: etcd refuses others then. Then set spec.auth.enabled of the EtcdCluster to true.",
    "users.md#enable-authentication",
  ),
  NameTaken: remedy(
    "The existing role or user in etcd stays as it is.",
    "Create the object with another name. With spec.takeOver, what has the name is changed to this object, and deleted with it.",
    "users.md#users-that-you-create-by-hand",
  ),
  ClusterNotFound: remedy(
    "The operator continues when the EtcdCluster exists.",
    "Create the EtcdCluster, or create this object again with another clusterRef.",
  ),
  ClusterNotReady: remedy(
    "The operator continues when the cluster serves.",
    "Read Ready of the EtcdCluster, or wake it.",
  ),
  Paused: remedy("Only certificates are renewed.", "End the pause of the EtcdCluster.", "change.md#pause"),
  EtcdUnreachable: remedy("The operator asks again.", "Read Available of the EtcdCluster."),
  Applying: passing("The change is made."),
  StepRefused: SHARED.StepRefused,
  Waiting: SHARED.Waiting,
  InternalError: SHARED.InternalError,
  ObjectTooLarge: SHARED.ObjectTooLarge,
  Deleting: remedy(
    "What it has made in etcd is deleted first.",
    "If the cluster will never answer again, remove the finalizer. The user or role stays in etcd.",
    "limits.md#users-and-roles",
  ),
} as const;

/** Remedies for reasons of EtcdRoles. */
export const ROLE_REMEDIES: Readonly<Record<RoleReason, Care>> = { Granted: "well", ...ACCESS };

/** Remedies for reasons of EtcdUsers. */
export const USER_REMEDIES: Readonly<Record<UserReason, Care>> = {
  Bound: "well",
  RoleMissing: remedy(
    "The user has the other roles; the missing one is granted when it exists.",
    "Create the EtcdRole.",
  ),
  SpecRefused: SHARED.SpecRefused,
  PasswordRefused: remedy(
    "The previous password stays valid.",
    "Write a shorter password into the binding Secret, or remove it: the operator makes one.",
  ),
  CertificatePending: remedy(
    "The certificate is issued when its issuer and the members' trust allow it.",
    "Nothing at first. If it stays, read the message: it names the issuer's problem.",
  ),
  ...ACCESS,
};

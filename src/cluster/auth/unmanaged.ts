import { OPERATOR, ROOT } from "#api/names.ts";
import type { EtcdCluster, Unmanaged, UnmanagedNames } from "#api/v1beta1/cluster.ts";

// Which users and roles of etcd are unmanaged?
//   Those that no EtcdUser and no EtcdRole names, and that are not the operator's. They are left alone and reported. A
//   name that an object
//   has without permission is reported by that object.

/** Most names that are listed, of users and of roles each; the others are counted. More would make the status long. */
const MOST_NAMES = 10;
/** Length at which a listed name is cut off, in UTF-16 code units. */
const MOST_LENGTH = 64;

/**
 * Characters that are valid in a name of etcd and unsafe in messages: control characters, bidirectional overrides,
 * invisible ones, quotes.
 */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}"\\]/u;

/** Names in etcd that EtcdUsers and EtcdRoles have. */
export interface HeldNames {
  /** EtcdUsers by the names of their users in etcd. */
  readonly users: ReadonlyMap<string, string>;
  readonly roles: ReadonlySet<string>;
}

/** All names in etcd. */
export interface AllNames {
  readonly users: readonly string[];
  readonly roles: readonly string[];
}

/** @param user the operator's user @param held names in EtcdUsers and EtcdRoles */
export function unmanagedOf(
  { status }: Pick<EtcdCluster, "status">,
  user: string | undefined,
  held: HeldNames,
  all: AllNames,
): Unmanaged {
  const ours = new Set([ROOT, OPERATOR, user, ...(status?.auth?.operators ?? [])]);
  const users = listOf(all.users.filter((name) => !ours.has(name) && !held.users.has(name)));
  const roles = listOf(all.roles.filter((name) => name !== ROOT && !held.roles.has(name)));
  return { ...(users && { users }), ...(roles && { roles }) };
}

function listOf(names: readonly string[]): UnmanagedNames | undefined {
  if (names.length === 0) return undefined;
  return { count: names.length, names: names.toSorted().slice(0, MOST_NAMES).map(safeName) };
}

function safeName(name: string): string {
  let safe = "";
  for (const each of name) {
    const text = UNSAFE.test(each) ? `\\u{${each.codePointAt(0)?.toString(16)}}` : each;
    if (safe.length + text.length > MOST_LENGTH) return `${safe}…`;
    safe += text;
  }
  return safe;
}

/** A sentence for people; `undefined` when there are none. */
export function unmanagedText({ users, roles }: Unmanaged): string | undefined {
  const parts = [users && listed("user", users), roles && listed("role", roles)].filter((each) => each !== undefined);
  return parts.length === 0 ? undefined : `etcd has ${parts.join(", and ")}; they are left alone`;
}

function listed(what: "user" | "role", { count, names }: UnmanagedNames): string {
  const quoted = names.map((name) => `"${name}"`).join(", ");
  const more = count > names.length ? `, and ${count - names.length} more` : "";
  return `${count} ${what}${count === 1 ? "" : "s"} that no ${what === "user" ? "EtcdUser" : "EtcdRole"} names: ${quoted}${more}`;
}

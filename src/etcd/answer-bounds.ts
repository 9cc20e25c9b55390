import { type DescField, type DescMessage, type DescMethod, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

// Why is the number of fields limited, and not only the bytes?
//   A tenant chooses a member's image, and so controls its answers. An empty list element takes 2 bytes encoded and 200
//   in memory. An answer of 16 MiB with eight million empty members took 1.6 GB and four seconds; the operator's
//   container has 512 MiB.
// Why are fields counted before decoding?
//   Decoding takes the memory and the time. Counting scans the bytes, allocates nothing, and stops at the limit.
// What happens with a larger answer?
//   The call fails with `ResourceExhausted`, as if the member had not answered. Truncation would make a list wrong.

/** Limits for one message from a member. */
interface AnswerBound {
  /** Length of the encoded message. */
  readonly bytes: number;
  /** Encoded fields at any depth. Each list element counts as one, plus its own fields. */
  readonly fields: number;
}

const KIB = 1_024;
const MIB = 1_024 ** 2;

/**
 * Limit for every method that is not in the table. Such an answer has a header of 30 bytes, a few numbers, and short
 * texts (version, errors). If smaller, a long error text of a future etcd is rejected; larger is not needed.
 */
const SMALL: AnswerBound = { bytes: 64 * KIB, fields: 1_000 };

/**
 * Member lists: a member has 7 fields and 200 to 700 bytes (two long URLs), and a cluster a few dozen members at most.
 */
const MEMBERS: AnswerBound = { bytes: 64 * KIB, fields: 2_000 };

/**
 * All names of users or roles: 100,000 of 40 bytes, which take 10 MB decoded. Listing fails for a cluster with more.
 */
const NAMES: AnswerBound = { bytes: 4 * MIB, fields: 100_000 };

/** The roles of one user, or the permissions of one role with 4 fields each: 10,000 of 100 bytes. */
const GRANTS: AnswerBound = { bytes: 1 * MIB, fields: 40_000 };

/** No limit on fields: 64 MiB hold at most 32 Mi fields, because a field takes at least two bytes. */
const UNCOUNTED: AnswerBound = { bytes: 64 * MIB, fields: 32 * MIB };

/** Method name → limits. Method names are unique across etcd's services. */
const BOUNDS: ReadonlyMap<string, AnswerBound> = new Map([
  ["MemberList", MEMBERS],
  ["MemberAdd", MEMBERS],
  ["MemberRemove", MEMBERS],
  ["MemberUpdate", MEMBERS],
  ["MemberPromote", MEMBERS],
  ["UserList", NAMES],
  ["RoleList", NAMES],
  ["UserGet", GRANTS],
  ["RoleGet", GRANTS],
  // One key with its value. etcd takes 1.5 MiB in a request by default.
  ["Range", { bytes: 2 * MIB, fields: 100 }],
  // Only agents call the methods below. An agent reads one member and exits, and its memory is not the operator's.
  // One chunk of a snapshot: etcd sends 32 KiB (snapshotSendBufferSize in server/etcdserver/api/v3rpc/maintenance.go).
  ["Snapshot", { bytes: 1 * MIB, fields: 10 }],
  // Changes. etcd splits a response that is larger than the request limit plus 512 KiB, unless it has only one event.
  // etcd recommends a request limit of at most 10 MiB. A deletion has at least 5 fields and 12 bytes: 2 MiB hold
  // 175,000. Fewer fields: a response beyond the limit becomes a gap in the archive. More fields: more memory than the
  // agent's container has by default (256 MiB). An agent that is out of memory cannot even record a gap.
  ["Watch", { bytes: 16 * MIB, fields: 1_250_000 }],
  // Only the agent's own temporary etcd answers the two methods below, so no tenant controls the answers. It holds the
  // leases of the backup, and has applied a revision before it answers. A smaller limit would make some archives
  // impossible to restore.
  ["LeaseLeases", UNCOUNTED],
  // 5 fields and 16 bytes for each key that the revision changed: enough for four million keys, far beyond etcd's own
  // limit.
  ["Txn", UNCOUNTED],
]);

/** Checks the length of an answer. @throws ConnectError `ResourceExhausted` when it exceeds the method's limit */
export function checkBytes({ name }: Pick<DescMethod, "name">, bytes: number): void {
  const bound = BOUNDS.get(name) ?? SMALL;
  if (bytes > bound.bytes) throw tooLarge(name, `${bytes} bytes; it may have ${bound.bytes}`);
}

/**
 * Decodes an answer within its limits. Drops unknown fields.
 * @throws ConnectError `ResourceExhausted` when it has too many fields; Error when the bytes are not a valid message
 */
export function decodedAnswer<O extends DescMessage>(
  { name, output }: Pick<DescMethod, "name"> & { readonly output: O },
  bytes: Uint8Array,
): MessageShape<O> {
  const { fields } = BOUNDS.get(name) ?? SMALL;
  // A field takes at least two bytes, so a short message cannot exceed the limit and is not counted.
  if (bytes.length > 2 * fields && countFields(output, bytes, fields, 0) > fields) {
    throw tooLarge(name, `more than ${fields} fields`);
  }
  return fromBinary(output, bytes, { readUnknownFields: false });
}

/**
 * Error for an answer beyond its limits. Its own class: etcd uses the same code, for example when its database is full.
 */
export class AnswerTooLarge extends ConnectError {}

function tooLarge(name: string, what: string): AnswerTooLarge {
  return new AnswerTooLarge(`the answer to ${name} has ${what}`, Code.ResourceExhausted);
}

/** Deepest allowed nesting of messages. etcd's have five levels. Larger: a hostile answer could overflow the stack. */
const MAX_DEPTH = 20;

/** Counts the fields of an encoded message at any depth. @param most counting stops at the first number above this */
function countFields(message: DescMessage, bytes: Uint8Array, most: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new ConnectError(`messages are nested ${depth} levels deep`, Code.ResourceExhausted);
  const messages = messageFieldsOf(message);
  const reader = new BinaryReader(bytes);
  let fields = 0;
  while (reader.pos < reader.len && fields <= most) {
    const [number, wireType] = reader.tag();
    fields += 1;
    if (wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, number);
      continue;
    }
    const content = reader.bytes();
    const field = messages.get(number);
    if (field?.message !== undefined) fields += countFields(field.message, content, most - fields, depth + 1);
    // A packed list may hold one number per byte.
    else if (field !== undefined) fields += content.length;
  }
  return fields;
}

const FIELDS = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

/** Field number → field, for fields that contain further elements: messages and packed lists of numbers. */
function messageFieldsOf(message: DescMessage): ReadonlyMap<number, DescField> {
  let fields = FIELDS.get(message);
  if (fields === undefined) {
    const holding = message.fields.filter(
      (field) => field.message !== undefined || (field.fieldKind === "list" && field.packed),
    );
    fields = new Map(holding.map((field) => [field.number, field]));
    FIELDS.set(message, fields);
  }
  return fields;
}

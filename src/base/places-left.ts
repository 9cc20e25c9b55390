// How many of a bounded number of slots may one namespace use, when it may keep them for long?
//   While a third of all is left, up to twice as many as are left: so one namespace alone gets two thirds. Of the last
//   third it gets at most a quarter of what is left then, or one.
// What remains for others?
//   With up to seven namespaces that want ever more at the same time, a third. With N of them, one slot in N / 4 + 1.
//   Namespaces that come one after the other, each when the one before has its maximum, get ever less. Of 256 slots
//   they get 171, 17, 14, 11, 9 and so on, until the seventeenth takes the last one. Of 300 it is the eighteenth. Fewer
//   namespaces never use all slots, also while some end and others begin.

const OF_TWO_THIRDS = 2;
const OF_THE_LAST_THIRD = 1 / 4;

/** Whether a namespace may use one more slot. @param taken its own @param left unused ones @param most total number */
export function isOneMoreLeft(taken: number, left: number, most: number): boolean {
  return taken < (3 * left >= most ? OF_TWO_THIRDS : OF_THE_LAST_THIRD) * left;
}

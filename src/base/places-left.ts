// How many of a bounded number of places may one namespace have, when those that have them may keep them for long?
//   While a third of all is left, it may have more than that, up to twice as many as are left: so one alone has two thirds. Of the last third it
//   has a quarter of what is left then, at the most, or one.
// What is left to others, then?
//   Where up to seven namespaces want ever more at the same time, a third; where it is N that do, one place in N / 4 + 1.
//   Those that come one after the other, each when the one before has all that it may have, get ever less: of 256 places 171, 17, 14, 11, 9 and so
//   on, until the seventeenth takes the last one; of 300 it is the eighteenth. Fewer never have all of them, also while some end and others
//   begin: whoever has taken its last one after another one did found no more left than what that one has now leaves.

const OF_TWO_THIRDS = 2;
const OF_THE_LAST_THIRD = 1 / 4;

/** Whether a namespace may have one more. @param taken its own @param left for everybody @param most how many there are */
export function isOneMoreLeft(taken: number, left: number, most: number): boolean {
  return taken < (3 * left >= most ? OF_TWO_THIRDS : OF_THE_LAST_THIRD) * left;
}

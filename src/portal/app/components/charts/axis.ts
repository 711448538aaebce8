/** Returns round whole numbers for an axis from 0 to at least `most`: at most six, and at least two. */
export function axisValues(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const step = [power / 5, power / 2, power, power * 2].find((each) => each >= 1 && most / each <= 5) ?? power * 2;
  const count = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

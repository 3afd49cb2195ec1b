/**
 * Appends to the list of a key, in place: to copy the list for each item takes the square of its length, and a text that
 * somebody made for it has a million items of one key.
 */
export function addToList<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

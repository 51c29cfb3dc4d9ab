/** Names in layers, of which an inner one hides those further out: nothing is copied for each layer. */
export interface Layered<T> {
  own: Map<string, T>;
  outer: Layered<T> | null;
}

export function layerOn<T>(outer: Layered<T> | null): Layered<T> {
  return { own: new Map(), outer: outer !== null && outer.own.size === 0 ? outer.outer : outer };
}

export function lookUp<T>(layers: Layered<T>, name: string): T | undefined {
  for (let layer: Layered<T> | null = layers; layer !== null; layer = layer.outer) {
    const value = layer.own.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Makes the build fail if an esbuild plugin replaced nothing, which means that its target was moved or renamed. */
export function applied(plugin) {
  return {
    name: plugin.name,
    setup(build) {
      let found = false;
      plugin.setup({
        ...build,
        onLoad: (options, load) =>
          build.onLoad(options, (file) => {
            found = true;
            return load(file);
          }),
      });
      build.onEnd(() => (found ? {} : { errors: [{ text: `"${plugin.name}" found nothing to replace` }] }));
    },
  };
}

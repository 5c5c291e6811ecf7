# SPDX-License-Identifier: MIT
"""DFTracer's annotation API for Python: what the program does, for whoever traces it.

    from dftracer.python import dftracer, dft_fn, ai

    fn = dft_fn("PROV")

    @fn.log
    def filter_msa(sequence):
        fn.uses("merged_msa", sequence)
        ...
        fn.generates("filtered_msa", sequence)

The package writes nothing itself. It calls libdftracer.so, whose probes a tracer may listen to;
while none does, an annotated call costs one test. The library is looked for when the package is
imported:

1. the file that the environment variable DFTRACER_LIBRARY names. If that cannot be used there is
   one warning, and no other is looked for;
2. libdftracer.so in the directory of this package, then in the directory that holds it;
3. libdftracer.so.0, then libdftracer.so, as the dynamic linker finds them.

The tracer looks in the same places. Without a library everything does nothing, except that ids of
entities are computed: they are a pure function of type and key.

Other variables of DFTracer's (DFTRACER_ENABLE, DFTRACER_LOG_FILE ...) mean nothing here: what is
traced, and where to, is said to the tracer. No signal handler is installed, and no file is opened.
"""

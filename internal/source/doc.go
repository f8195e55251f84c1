// Package source reads YAML strictly and keeps positions. It owns the step from bytes to typed values with file:line:col: every
// map is closed or read key by key, every scalar has the type that was asked for, and every error is collected, none returned
// early. It refuses what YAML adds beyond plain data (anchors, aliases, merge keys, tags, several documents), duplicate keys,
// input above [MaxBytes] and nesting above [MaxDepth]. It knows nothing of contracts but positions and problems.
package source

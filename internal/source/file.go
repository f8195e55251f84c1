package source

import (
	"fmt"
	"io"
	"os"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// ReadFile reads a regular file of at most MaxBytes bytes. A device, a pipe or a directory is refused before it is opened for
// reading: it could block or never end.
func ReadFile(path string) ([]byte, error) { return ReadFileUpTo(path, MaxBytes) }

// ReadFileUpTo is [ReadFile] with another bound, for a file that a program wrote.
func ReadFileUpTo(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &contract.Problem{What: path + " is not a regular file", Hint: "name a file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, &contract.Problem{What: path + " is too large", Got: fmt.Sprintf("more than %d bytes", most), Want: "less", Hint: "split it"}
	}
	return data, nil
}

package report

type file struct {
	name string
	data []byte
}

func (r *Report) markdown(base string) (string, []file) { return "", nil }
